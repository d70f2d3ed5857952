# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the API server is and how to prove who we are, decided exactly as kubernetes.core does.

Same option names, same ``K8S_AUTH_*`` variables, same order: enough given outright, else a named
kubeconfig or context, else the pod's service account, else the default kubeconfig.

A kubeconfig with tokens or certificates is read here, because importing the ``kubernetes`` package
costs more time than most of our modules need in total (see docs/performance.md). Everything with
behaviour in it (exec plugins, auth providers, merged files) is left to that package's own loader.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_KUBECONFIG = "~/.kube/config"
NEEDS_PACKAGE = ("exec", "auth-provider")

# kubernetes.core accepts both the option's name and the client's own name in the environment.
OPTIONS: dict[str, str] = {
    "kubeconfig": "kubeconfig",
    "context": "context",
    "host": "host",
    "api_key": "api_key",
    "username": "username",
    "password": "password",
    "validate_certs": "verify_ssl",
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
    "proxy": "proxy",
    "no_proxy": "no_proxy",
    "proxy_headers": "proxy_headers",
    "persist_config": "persist_config",
    "impersonate_user": "impersonate_user",
    "impersonate_groups": "impersonate_groups",
}


class ConnectionFailed(Exception):
    """No usable way to the API server: what was tried, what was found, what to give instead."""


@dataclass(frozen=True, repr=False)
class Connection:
    """An API server and the credentials for it. Its ``repr`` shows the address only."""

    host: str
    verify: bool = True
    ca_data: str = ""
    certificate: str = ""
    """Client certificate and private key, PEM, in one text."""
    token: Callable[[], str] = field(default=lambda: "")
    """Returns the whole ``Authorization`` value, fresh at each call (tokens rotate)."""
    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""
    no_proxy: str = ""
    proxy_headers: Mapping[str, str] = field(default_factory=dict)
    server_name: str = ""

    def __repr__(self) -> str:
        return f"Connection({self.host!r})"

    def ssl_context(self) -> ssl.SSLContext:
        """Return a TLS context; key material touches the disk only while OpenSSL reads it."""
        context = ssl.create_default_context(cadata=self.ca_data or None)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate:
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as handle:
                handle.write(self.certificate)
                handle.flush()
                context.load_cert_chain(handle.name)
        return context


def options_from(given: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the connection options that are set, each from the module or else the environment."""
    found: dict[str, Any] = {}
    for option, client_name in OPTIONS.items():
        value = given.get(option)
        if value is None:
            names = (f"K8S_AUTH_{option.upper()}", f"K8S_AUTH_{client_name.upper()}")
            value = next((environment[name] for name in names if environment.get(name)), None)
            if value is not None and option in ("validate_certs", "persist_config"):
                value = value.lower() not in ("0", "false", "no")
            elif value is not None and option == "impersonate_groups":
                value = [group for group in value.split(",") if group]
            elif value is not None and option == "proxy_headers":
                value = None
        if value is not None:
            found[option] = value
    return found


def resolve(given: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Connection:
    """Return the connection that the options, the environment and this machine's files describe.

    :raises ConnectionFailed: where none of them leads to an API server.
    """
    environment = os.environ if environment is None else environment
    options = options_from(given, environment)
    host = str(options.get("host", "")).rstrip("/")
    complete = host and (
        "api_key" in options
        or ("username" in options and "password" in options)
        or ("client_cert" in options and "client_key" in options)
    )
    if complete:
        base = Connection(host=host)
    elif "kubeconfig" in options or "context" in options:
        base = from_kubeconfig(options, environment)
    elif environment.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        base = in_cluster(environment)
    else:
        base = from_kubeconfig(options, environment)
    return overridden(base, options)


def overridden(base: Connection, options: Mapping[str, Any]) -> Connection:
    """Lay options that were given outright over what a file said, as kubernetes.core does."""
    token, certificate = base.token, base.certificate
    if "api_key" in options:
        token = constant(f"Bearer {options['api_key']}")
    elif "username" in options and "password" in options:
        token = constant(basic(options["username"], options["password"]))
    if "client_cert" in options and "client_key" in options:
        certificate = read_file(options["client_cert"]) + read_file(options["client_key"])
    headers = list(base.headers)
    if options.get("impersonate_user"):
        headers.append(("Impersonate-User", options["impersonate_user"]))
    headers += [("Impersonate-Group", group) for group in options.get("impersonate_groups", [])]
    return Connection(
        host=str(options.get("host", base.host)).rstrip("/"),
        verify=options.get("validate_certs", base.verify),
        ca_data=read_file(options["ca_cert"]) if "ca_cert" in options else base.ca_data,
        certificate=certificate,
        token=token,
        headers=tuple(headers),
        proxy=options.get("proxy", base.proxy),
        no_proxy=options.get("no_proxy", base.no_proxy),
        proxy_headers=options.get("proxy_headers", base.proxy_headers),
        server_name=base.server_name,
    )


def in_cluster(environment: Mapping[str, str]) -> Connection:
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    bracketed = f"[{host}]" if ":" in host else host
    return Connection(
        host=f"https://{bracketed}:{port}",
        ca_data=read_file(SERVICE_ACCOUNT / "ca.crt"),
        token=lambda: f"Bearer {read_file(SERVICE_ACCOUNT / 'token').strip()}",
    )


def from_kubeconfig(options: Mapping[str, Any], environment: Mapping[str, str]) -> Connection:
    source = options.get("kubeconfig") or environment.get("KUBECONFIG") or DEFAULT_KUBECONFIG
    if isinstance(source, str) and os.pathsep in source:
        return through_package(source, options)
    document, directory = load(source)
    name = options.get("context") or document.get("current-context")
    context = named(document, "contexts", name, "context", source)
    cluster = named(document, "clusters", context.get("cluster"), "cluster", source)
    user = named(document, "users", context.get("user"), "user", source)
    if any(user.get(key) for key in NEEDS_PACKAGE):
        return through_package(source, options, login=True)
    if not cluster.get("server") and "host" not in options:
        raise ConnectionFailed(
            f"Looking for the Kubernetes API: the cluster {context.get('cluster')!r} of the kubeconfig "
            "names no server. Correct it, or give `host`."
        )
    return Connection(
        host=str(cluster.get("server", "")).rstrip("/"),
        verify=not cluster.get("insecure-skip-tls-verify", False),
        ca_data=inline_or_file(cluster, "certificate-authority", directory),
        certificate=inline_or_file(user, "client-certificate", directory)
        + inline_or_file(user, "client-key", directory),
        token=credentials(user, directory),
        proxy=cluster.get("proxy-url", ""),
        server_name=cluster.get("tls-server-name", ""),
    )


def load(source: Any) -> tuple[Mapping[str, Any], Path]:
    if isinstance(source, Mapping):
        return source, Path.cwd()
    import yaml  # noqa: PLC0415 - a module must start without it, to say that it is missing

    path = Path(str(source)).expanduser()
    try:
        document = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except OSError as error:
        raise ConnectionFailed(
            f"Looking for the Kubernetes API: the kubeconfig {path} can't be read "
            f"({error.strerror}). Give `kubeconfig` (or K8S_AUTH_KUBECONFIG), or `host` and `api_key`."
        ) from error
    except yaml.YAMLError as error:
        raise ConnectionFailed(
            f"Looking for the Kubernetes API: the kubeconfig {path} is not YAML. "
            "Write it again with the tool that made it."
        ) from error
    if not isinstance(document, Mapping):
        raise ConnectionFailed(f"The kubeconfig {path} holds no clusters, users and contexts.")
    return document, path.parent


def named(document: Mapping[str, Any], section: str, name: Any, key: str, source: Any) -> Mapping[str, Any]:
    listed = document.get(section) or []
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    for entry in entries:
        if entry.get("name") == name:
            body = entry.get(key) or {}
            return body if isinstance(body, Mapping) else {}
    offered = ", ".join(str(entry.get("name")) for entry in entries) or "none"
    where = source if isinstance(source, str) else "the given kubeconfig"
    raise ConnectionFailed(
        f"Looking for the Kubernetes API: {where} has no {key} {name!r}; it has {offered}. "
        "Choose one of them with `context`."
    )


def inline_or_file(entry: Mapping[str, Any], key: str, directory: Path) -> str:
    inline = entry.get(f"{key}-data")
    if inline:
        try:
            return base64.b64decode(inline, validate=True).decode()
        except (TypeError, ValueError) as error:
            raise ConnectionFailed(
                f"Looking for the Kubernetes API: {key}-data of the kubeconfig is not base64 text. "
                "Write the kubeconfig again with the tool that made it."
            ) from error
    return read_file(directory / entry[key]) if entry.get(key) else ""


def credentials(user: Mapping[str, Any], directory: Path) -> Callable[[], str]:
    if user.get("tokenFile"):
        path = directory / user["tokenFile"]
        return lambda: f"Bearer {read_file(path).strip()}"
    if user.get("token"):
        return constant(f"Bearer {user['token']}")
    if user.get("username") and user.get("password"):
        return constant(basic(user["username"], user["password"]))
    return constant("")


def through_package(source: Any, options: Mapping[str, Any], *, login: bool = False) -> Connection:
    """Load a kubeconfig with the ``kubernetes`` package: exec plugins, auth providers, merging."""
    try:
        from kubernetes import client, config  # noqa: PLC0415 - 0.5 s that most connections need not pay
    except ImportError as error:
        raise ConnectionFailed(
            f"The kubeconfig {source} uses an exec plugin, an auth provider or several files, which "
            "needs the Python package kubernetes. Install it where this module runs."
        ) from error
    configuration = client.Configuration()
    arguments = {"context": options.get("context"), "client_configuration": configuration}
    try:
        if isinstance(source, Mapping):
            config.load_kube_config_from_dict(config_dict=source, **arguments)
        else:
            config.load_kube_config(config_file=source, **arguments)
    except config.ConfigException as error:
        raise ConnectionFailed(f"The kubeconfig {source} can't be used: {error}") from error
    pem = [read_file(path) for path in (configuration.cert_file, configuration.key_file) if path]

    def token() -> str:
        # Where the package keeps it has changed; this is what its own client sends. It logs in again
        # when the token has expired.
        return str(configuration.auth_settings().get("BearerToken", {}).get("value") or "")

    if login and not pem and not token():
        # The package only logs it when a login fails.
        raise ConnectionFailed(
            "Logging in to the Kubernetes API: the exec plugin or auth provider of the kubeconfig gave "
            "neither token nor certificate. Run its command by hand to see why."
        )
    return Connection(
        host=configuration.host.rstrip("/"),
        verify=configuration.verify_ssl,
        ca_data=read_file(configuration.ssl_ca_cert) if configuration.ssl_ca_cert else "",
        certificate="".join(pem),
        token=token,
        proxy=configuration.proxy or "",
        server_name=configuration.tls_server_name or "",
    )


def read_file(path: Any) -> str:
    try:
        return Path(path).expanduser().read_text()
    except OSError as error:
        raise ConnectionFailed(
            f"Connecting to the Kubernetes API: {path} can't be read ({error.strerror})."
        ) from error


def constant(value: str) -> Callable[[], str]:
    return lambda: value


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()

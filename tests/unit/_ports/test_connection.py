# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the API server is, by every source in its order, and what is said where none leads there."""

from __future__ import annotations

import base64
import json
import ssl
import sys
from datetime import datetime, timedelta, timezone

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.inference.dra.plugins.module_utils._ports import connection
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import (
    ConnectionFailed,
    options_from,
    resolve,
)

SERVER = "https://dump.example.com:6443"
OTHER = "https://other.example.com"
SECRET = "a-secret-that-nobody-may-see"


def kubeconfig(user=None, cluster=None, **changes) -> dict:
    return {
        "current-context": "main",
        "contexts": [
            {"name": "main", "context": {"cluster": "main", "user": "me"}},
            {"name": "second", "context": {"cluster": "second", "user": "me"}},
        ],
        "clusters": [
            {"name": "main", "cluster": {"server": SERVER, **(cluster or {})}},
            {"name": "second", "cluster": {"server": OTHER}},
        ],
        "users": [{"name": "me", "user": {"token": SECRET} if user is None else user}],
        **changes,
    }


def written(path, document) -> str:
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return str(path)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def basic(username: str, password: str) -> str:
    return f"Basic {encoded(f'{username}:{password}')}"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No kubeconfig and no service account, whatever machine the test runs on."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(connection, "SERVICE_ACCOUNT", tmp_path / "serviceaccount")
    return tmp_path


@pytest.fixture(scope="module")
def pem() -> tuple[str, str]:
    """A certificate and its key, PEM; it is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    begin = datetime(2026, 1, 1, tzinfo=timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


# Where options come from

BOTH_NAMES = [
    ("validate_certs", "K8S_AUTH_VALIDATE_CERTS", "no", False),
    ("validate_certs", "K8S_AUTH_VERIFY_SSL", "True", True),
    ("ca_cert", "K8S_AUTH_CA_CERT", "ca.pem", "ca.pem"),
    ("ca_cert", "K8S_AUTH_SSL_CA_CERT", "ca.pem", "ca.pem"),
    ("client_cert", "K8S_AUTH_CLIENT_CERT", "c.pem", "c.pem"),
    ("client_cert", "K8S_AUTH_CERT_FILE", "c.pem", "c.pem"),
    ("client_key", "K8S_AUTH_CLIENT_KEY", "k.pem", "k.pem"),
    ("client_key", "K8S_AUTH_KEY_FILE", "k.pem", "k.pem"),
    ("kubeconfig", "K8S_AUTH_KUBECONFIG", "k", "k"),
    ("context", "K8S_AUTH_CONTEXT", "second", "second"),
    ("host", "K8S_AUTH_HOST", SERVER, SERVER),
    ("api_key", "K8S_AUTH_API_KEY", SECRET, SECRET),
    ("username", "K8S_AUTH_USERNAME", "me", "me"),
    ("password", "K8S_AUTH_PASSWORD", SECRET, SECRET),
    ("proxy", "K8S_AUTH_PROXY", "http://proxy", "http://proxy"),
    ("no_proxy", "K8S_AUTH_NO_PROXY", "a,b", "a,b"),
    ("persist_config", "K8S_AUTH_PERSIST_CONFIG", "0", False),
    ("impersonate_user", "K8S_AUTH_IMPERSONATE_USER", "boss", "boss"),
    ("impersonate_groups", "K8S_AUTH_IMPERSONATE_GROUPS", "a,b,", ["a", "b"]),
]


@pytest.mark.parametrize(
    ("option", "variable", "text", "value"), BOTH_NAMES, ids=[each[1] for each in BOTH_NAMES]
)
def test_option_from_the_environment(option, variable, text, value):
    assert options_from({option: None}, {variable: text}) == {option: value}


@pytest.mark.parametrize("given", [False, True], ids=["false", "true"])
def test_what_the_module_was_given_wins_over_the_environment(given):
    found = options_from({"validate_certs": given}, {"K8S_AUTH_VALIDATE_CERTS": str(not given)})
    assert found == {"validate_certs": given}


# Which source wins

OUTRIGHT = {
    "token": ({"api_key": SECRET}, f"Bearer {SECRET}"),
    "name and password": ({"username": "me", "password": SECRET}, basic("me", SECRET)),
}


@pytest.mark.parametrize(("options", "authorization"), OUTRIGHT.values(), ids=OUTRIGHT)
def test_enough_given_outright_wins_over_every_file(home, options, authorization):
    given = {"host": f"{OTHER}/", "kubeconfig": written(home / "k", kubeconfig()), **options}
    found = resolve(given, {})
    assert (found.host, found.token()) == (OTHER, authorization)


def test_certificate_given_outright(home, pem):
    given = {
        "host": OTHER,
        "client_cert": written(home / "cert", pem[0]),
        "client_key": written(home / "key", pem[1]),
    }
    found = resolve(given, {})
    assert (found.host, found.certificate, found.token()) == (OTHER, "".join(pem), "")


def test_host_alone_is_laid_over_the_kubeconfig(home):
    found = resolve({"host": OTHER, "kubeconfig": kubeconfig()}, {})
    assert (found.host, found.token()) == (OTHER, f"Bearer {SECRET}")


SOURCES = {
    "file": lambda home: ({"kubeconfig": written(home / "k", kubeconfig())}, {}, SERVER),
    "mapping": lambda _home: ({"kubeconfig": kubeconfig()}, {}, SERVER),
    "file and context": lambda home: (
        {"kubeconfig": written(home / "k", kubeconfig()), "context": "second"},
        {},
        OTHER,
    ),
    "mapping and context": lambda _home: ({"kubeconfig": kubeconfig(), "context": "second"}, {}, OTHER),
    "K8S_AUTH_KUBECONFIG": lambda home: (
        {},
        {"K8S_AUTH_KUBECONFIG": written(home / "k", kubeconfig())},
        SERVER,
    ),
    "KUBECONFIG": lambda home: ({}, {"KUBECONFIG": written(home / "k", kubeconfig())}, SERVER),
    "context of KUBECONFIG": lambda home: (
        {"context": "second"},
        {"KUBECONFIG": written(home / "k", kubeconfig())},
        OTHER,
    ),
    "default file": lambda home: (in_default_place(home), {}, SERVER),
    "context in a pod": lambda home: (
        {"context": "second", "kubeconfig": written(home / "k", kubeconfig())},
        in_a_pod(home),
        OTHER,
    ),
    "pod": lambda home: (in_default_place(home), in_a_pod(home), "https://10.0.0.1:443"),
    "pod with IPv6": lambda home: (
        {},
        {**in_a_pod(home), "KUBERNETES_SERVICE_HOST": "fd00::1"},
        "https://[fd00::1]:443",
    ),
}


def in_default_place(home) -> dict:
    (home / ".kube").mkdir()
    written(home / ".kube" / "config", kubeconfig())
    return {}


def in_a_pod(home) -> dict:
    account = home / "serviceaccount"
    account.mkdir()
    (account / "token").write_text(f"{SECRET}\n")
    (account / "ca.crt").write_text("authority")
    return {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_source(home, source):
    given, environment, host = source(home)
    found = resolve(given, environment)
    assert (found.host, found.token()) == (host, f"Bearer {SECRET}")


def test_token_of_a_pod_rotates(home):
    found = resolve({}, in_a_pod(home))
    (home / "serviceaccount" / "token").write_text("next")
    assert (found.token(), found.ca_data) == ("Bearer next", "authority")


# What a kubeconfig can say

USERS = {
    "token": ({"token": SECRET}, f"Bearer {SECRET}"),
    "name and password": ({"username": "me", "password": SECRET}, basic("me", SECRET)),
    "nothing": ({}, ""),
}


@pytest.mark.parametrize(("user", "authorization"), USERS.values(), ids=USERS)
def test_user(user, authorization):
    assert resolve({"kubeconfig": kubeconfig(user)}, {}).token() == authorization


def test_token_file_is_relative_to_the_kubeconfig_and_read_at_each_request(home):
    folder = home / "folder"
    folder.mkdir()
    (folder / "token").write_text("first\n")
    found = resolve({"kubeconfig": written(folder / "k", kubeconfig({"tokenFile": "token"}))}, {})
    assert found.token() == "Bearer first"
    (folder / "token").write_text("second\n")
    assert found.token() == "Bearer second"


def test_certificates_inline_and_from_files_are_the_same(home, pem):
    written(home / "cert", pem[0])
    written(home / "key", pem[1])
    inline = kubeconfig(
        {"client-certificate-data": encoded(pem[0]), "client-key-data": encoded(pem[1])},
        {"certificate-authority-data": encoded(pem[0])},
    )
    files = kubeconfig(
        {"client-certificate": "cert", "client-key": str(home / "key")}, {"certificate-authority": "cert"}
    )
    by_value = resolve({"kubeconfig": inline}, {})
    by_path = resolve({"kubeconfig": written(home / "k", files)}, {})
    for found in (by_value, by_path):
        assert (found.certificate, found.ca_data) == ("".join(pem), pem[0])
        context = found.ssl_context()
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "test"),),)]


@pytest.mark.parametrize("option", [False, True], ids=["kubeconfig", "option"])
def test_insecure_is_only_what_was_asked_for(option):
    insecure = {} if option else {"insecure-skip-tls-verify": True}
    given = {"kubeconfig": kubeconfig(cluster=insecure), **({"validate_certs": False} if option else {})}
    context = resolve(given, {}).ssl_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
    assert resolve({"kubeconfig": kubeconfig()}, {}).ssl_context().verify_mode is ssl.CERT_REQUIRED


def test_proxy_server_name_and_authority():
    cluster = {"proxy-url": "http://proxy:3128", "tls-server-name": "kubernetes"}
    found = resolve({"kubeconfig": kubeconfig(cluster=cluster)}, {})
    assert (found.proxy, found.server_name) == ("http://proxy:3128", "kubernetes")
    over = resolve({"kubeconfig": kubeconfig(cluster=cluster), "proxy": "http://p2", "no_proxy": "a"}, {})
    assert (over.proxy, over.no_proxy, over.server_name) == ("http://p2", "a", "kubernetes")


def test_impersonation_becomes_headers():
    given = {
        "kubeconfig": kubeconfig(),
        "impersonate_user": "system:serviceaccount:a:b",
        "impersonate_groups": ["one", "two"],
    }
    assert resolve(given, {}).headers == (
        ("Impersonate-User", "system:serviceaccount:a:b"),
        ("Impersonate-Group", "one"),
        ("Impersonate-Group", "two"),
    )


# Through the kubernetes package


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


def exec_user(home, body: str) -> dict:
    script = home / "login"
    script.write_text(f"#!{sys.executable}\n{body}\n")
    script.chmod(0o700)
    return {"exec": {**EXEC, "command": str(script)}}


CREDENTIAL = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {"token": SECRET},
}


@pytest.mark.parametrize("as_file", [True, False], ids=["file", "mapping"])
def test_exec_plugin(home, as_file):
    document = kubeconfig(exec_user(home, f"print({json.dumps(CREDENTIAL)!r})"))
    found = resolve({"kubeconfig": written(home / "k", document) if as_file else document}, {})
    assert (found.host, found.token()) == (SERVER, f"Bearer {SECRET}")


def test_several_kubeconfigs_are_merged(home):
    users = {"users": [{"name": "me", "user": {"token": SECRET}}]}
    rest = {key: value for key, value in kubeconfig().items() if key != "users"}
    both = f"{written(home / 'a', users)}:{written(home / 'b', rest)}"
    found = resolve({"context": "second"}, {"KUBECONFIG": both})
    assert (found.host, found.token()) == (OTHER, f"Bearer {SECRET}")


# What is said where nothing leads to an API server

FAILURES = {
    "no kubeconfig": (lambda home: {"kubeconfig": str(home / "none")}, "can't be read (No such file"),
    "not YAML": (lambda home: {"kubeconfig": written(home / "k", "a: [")}, "is not YAML"),
    "empty": (lambda home: {"kubeconfig": written(home / "k", "")}, "no clusters, users and contexts"),
    "a list": (lambda home: {"kubeconfig": written(home / "k", "[]")}, "no clusters, users and contexts"),
    "no such context": (
        lambda _home: {"kubeconfig": kubeconfig(), "context": "third"},
        "no context 'third'; it has main, second. Choose one",
    ),
    "no contexts": (lambda _home: {"kubeconfig": kubeconfig(contexts=None)}, "it has none"),
    "contexts are no list": (lambda _home: {"kubeconfig": kubeconfig(contexts="main")}, "it has none"),
    "a context is text": (lambda _home: {"kubeconfig": kubeconfig(contexts=["main"])}, "it has none"),
    "no such cluster": (lambda _home: {"kubeconfig": kubeconfig(clusters=[])}, "no cluster 'main'"),
    "no such user": (lambda _home: {"kubeconfig": kubeconfig(users=[])}, "no user 'me'"),
    "no server": (lambda _home: {"kubeconfig": kubeconfig(cluster={"server": ""})}, "names no server"),
    "authority not base64": (
        lambda _home: {"kubeconfig": kubeconfig(cluster={"certificate-authority-data": "%"})},
        "certificate-authority-data of the kubeconfig is not base64 text",
    ),
    "no authority file": (
        lambda home: {"kubeconfig": kubeconfig(), "ca_cert": str(home / "none")},
        "can't be read (No such file",
    ),
    "exec plugin that is not there": (
        lambda _home: {"kubeconfig": kubeconfig({"exec": {**EXEC, "command": "no-such-login"}})},
        "gave neither token nor certificate. Run its command by hand",
    ),
    "exec plugin that fails": (
        lambda home: {"kubeconfig": kubeconfig(exec_user(home, "raise SystemExit(1)"))},
        "gave neither token nor certificate",
    ),
}


@pytest.mark.parametrize(("given", "sentence"), FAILURES.values(), ids=FAILURES)
def test_failure(home, given, sentence):
    with pytest.raises(ConnectionFailed) as failure:
        resolve(given(home), {})
    assert sentence in str(failure.value)
    assert SECRET not in str(failure.value)


@pytest.mark.usefixtures("home")
def test_nothing_at_all():
    with pytest.raises(ConnectionFailed, match=r"Give `kubeconfig` .* or `host` and `api_key`"):
        resolve({}, {})


def test_package_missing_is_said(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(ConnectionFailed, match="needs the Python package kubernetes"):
        resolve({"kubeconfig": kubeconfig(exec_user(home, ""))}, {})


def test_secrets_are_never_shown(home, pem):
    given = {
        "kubeconfig": kubeconfig(),
        "client_cert": written(home / "cert", pem[0]),
        "client_key": written(home / "key", pem[1]),
    }
    found = resolve(given, {})
    assert repr(found) == str(found) == f"Connection('{SERVER}')"

# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the report looks: one style sheet for light and dark screens, phones and paper."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#16191d;--soft:#656d76;--line:#e4e7eb;--tint:#f5f6f8;
--bad:#b42318;--warn:#a15c07;--good:#15703f;
--a0:#0b7a6b;--a1:#c2600c;--a2:#4f46c8;--a3:#b3246f;--a4:#1668a8;--a5:#5c7a0a;--a6:#7d34b8;--a7:#6b6259;
--ax:#8b939c}
@media(prefers-color-scheme:dark){:root{--paper:#111417;--ink:#e7eaee;--soft:#98a2ad;--line:#272d34;
--tint:#1a1f24;--bad:#ff8a7f;--warn:#f0b357;--good:#5fce92;
--a0:#2fb8a3;--a1:#ec9440;--a2:#8f88f5;--a3:#ee78b3;--a4:#5cb0ec;--a5:#a6c44a;--a6:#c28bf0;--a7:#aaa197;
--ax:#7d868f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:70rem;padding:3.5rem 2rem 5rem;background:var(--paper);color:var(--ink);
font:1rem/1.55 ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
h1,h2,p,li,dd,td,summary{overflow-wrap:anywhere}
h1{font-size:clamp(1.75rem,5vw,2.75rem);line-height:1.15;letter-spacing:-.022em;font-weight:650;
margin:.5rem 0 .9rem;
text-wrap:balance}
h2{font-size:1rem;font-weight:650;margin:0;letter-spacing:-.005em}
table+h3{margin-top:1.4rem}
h3{font-size:.8125rem;font-weight:500;color:var(--soft);margin:0 0 .6rem}
p{margin:0 0 .6rem}.soft{color:var(--soft)}.small{font-size:.8125rem}
.eyebrow{font-size:.8125rem;color:var(--soft);margin:0}
.lead{font-size:1.0625rem;max-width:54rem;color:var(--soft);margin:0}
.lead b{color:var(--ink);font-weight:550}.lead b.error{color:var(--bad)}.lead b.warning{color:var(--warn)}
code{font:.8125rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;
overflow-wrap:anywhere}
.error{color:var(--bad)}.warning{color:var(--warn)}.ok{color:var(--good)}.note{color:var(--soft)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:1.5rem 2rem;
margin:2.5rem 0 3rem}
.figures div{display:flex;flex-direction:column-reverse;justify-content:flex-end}
.figures dt{font-size:.8125rem;color:var(--soft);line-height:1.35}
.figures dd{margin:0;font-size:1.75rem;line-height:1.25;font-weight:600;letter-spacing:-.02em}
.figures dd small{font-size:.9375rem;font-weight:500;letter-spacing:0;color:var(--soft)}
section{display:grid;grid-template-columns:12.5rem minmax(0,1fr);gap:.75rem 3rem;
border-top:1px solid var(--line);
padding:1.75rem 0 2.25rem}
section>header p{font-size:.8125rem;line-height:1.5;color:var(--soft);margin:.3rem 0 0}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
th{font-size:.8125rem;font-weight:500;color:var(--soft);padding:0 1.25rem .4rem 0;text-align:left;
vertical-align:bottom}
td{padding:.5rem 1.25rem .5rem 0;border-top:1px solid var(--line);vertical-align:top}
th:last-child,td:last-child{padding-right:0}
th.n,td.n{text-align:right;white-space:nowrap}
.line{white-space:nowrap}
tr.sum td{font-weight:600}
.mark{overflow-wrap:anywhere}
.mark::before{content:"";display:inline-block;width:.62em;height:.62em;border-radius:.18em;
background:var(--c);
margin-right:.5em;vertical-align:.02em}
.a0{--c:var(--a0)}.a1{--c:var(--a1)}.a2{--c:var(--a2)}.a3{--c:var(--a3)}.a4{--c:var(--a4)}.a5{--c:var(--a5)}
.a6{--c:var(--a6)}.a7{--c:var(--a7)}.ax{--c:var(--ax)}
h1 .on{color:var(--c);overflow-wrap:anywhere}
.counts{display:flex;flex-wrap:wrap;gap:0 1rem}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;font-size:.8125rem;color:var(--soft);margin:0 0 1rem}
.legend i{display:inline-block;width:.7em;height:.7em;border-radius:.18em;background:var(--ink);
margin-right:.45em}
.legend .dash{width:1.3em;height:0;border-top:1.5px dashed var(--soft);background:none;border-radius:0;
vertical-align:.25em}
.o0{opacity:.22}.o1{opacity:.42}.o2{opacity:.66}.o3{opacity:1}
.course{position:relative;height:13rem;margin:1.4rem 5.5rem 1.6rem 1.5rem}
.course svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.course path{vector-effect:non-scaling-stroke}
.course .area{fill:var(--c);fill-opacity:.86;stroke:var(--paper);stroke-width:1.5}
.course .asked{fill:none;stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 3}
.course .rule{stroke:var(--line);stroke-width:1;fill:none}
.course span{position:absolute;font-size:.75rem;line-height:1;color:var(--soft);white-space:nowrap}
.course .y{right:calc(100% + .6rem);transform:translateY(50%)}
.course .x{top:calc(100% + .55rem);transform:translateX(-50%)}
.course .x.first{transform:none}
.course .end{left:calc(100% + .7rem);width:4.8rem;transform:translateY(50%);color:var(--ink);
font-size:.8125rem;line-height:1.2;overflow:hidden;text-overflow:ellipsis}
.lanes{display:grid;gap:.45rem;font-size:.8125rem}
.lane{display:grid;grid-template-columns:9.5rem minmax(0,1fr) 3.75rem;gap:0 .9rem;align-items:center}
.lane .who{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.lane .took{text-align:right;white-space:nowrap}
.track{position:relative;height:1.15rem;border-radius:.2rem;background:var(--tint)}
.track i{position:absolute;top:0;bottom:0;background:var(--c);border-right:1px solid var(--paper)}
.track i:first-child{border-radius:.2rem 0 0 .2rem}.track i:last-child{border-radius:0 .2rem .2rem 0;
border-right:0}
.scale{position:relative;height:1rem;color:var(--soft);font-size:.75rem}
.scale span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.scale span:first-child{transform:none}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));gap:1.75rem 3rem;
margin-bottom:2rem}
.bars{display:grid;grid-template-columns:fit-content(45%) minmax(0,1fr) max-content;gap:.4rem .8rem;
align-items:center;font-size:.875rem}
.bars .room{position:relative;height:.8rem}
.bars .room i{position:absolute;left:0;top:0;bottom:0;background:var(--c);border-radius:.15rem;
min-width:2px}
.bars .room u{position:absolute;top:50%;height:0;border-top:2px solid var(--c);opacity:.5}
.bars .value{text-align:right}
ul.plain{list-style:none;margin:0;padding:0}
.finding{padding:0 0 1rem}.finding:last-child{padding-bottom:0}
.finding+.finding{border-top:1px solid var(--line);padding-top:1rem}
.finding p{margin:.15rem 0;font-size:.9375rem}.finding p.small{font-size:.8125rem}
.finding .kind{font-size:.8125rem;font-weight:550}
details{border-top:1px solid var(--line)}details:last-of-type{border-bottom:1px solid var(--line)}
summary{padding:.6rem 0;cursor:pointer;display:flex;gap:.4rem 1rem;flex-wrap:wrap;align-items:baseline;
list-style:none}
summary::-webkit-details-marker{display:none}
summary::after{content:"+";margin-left:auto;color:var(--soft);font-weight:500}
details[open]>summary::after{content:"\\2212"}
summary:focus-visible{outline:2px solid var(--a0);outline-offset:2px;border-radius:.2rem}
.inside{padding:0 0 1.1rem}.inside table{font-size:.8125rem}
dl.facts{display:grid;grid-template-columns:minmax(8rem,max-content) minmax(0,1fr);gap:.35rem 1.5rem;
margin:0;font-size:.9375rem}
dl.facts dt{color:var(--soft)}dl.facts dd{margin:0;overflow-wrap:anywhere}
footer{border-top:1px solid var(--line);padding-top:1.25rem;font-size:.8125rem;color:var(--soft)}
@media(max-width:46rem){
body{padding:2rem 1.1rem 3.5rem}
section{grid-template-columns:minmax(0,1fr);padding:1.5rem 0 1.75rem}
section>header{margin-bottom:.4rem}
.figures{grid-template-columns:1fr 1fr;margin:2rem 0}
.course{margin-right:4.2rem}.course .end{width:3.5rem}
.lane{grid-template-columns:minmax(0,1fr) auto;gap:.15rem .5rem}
.lane .track{grid-row:2;grid-column:1/-1}.lane .took{grid-row:1;grid-column:2}
.scale{display:none}
table.listed,table.listed tbody,table.listed tr,table.listed td{display:block}
table.listed tr.head{display:none}
table.listed tr{border-top:1px solid var(--line);padding:.6rem 0}
table.listed td{border:0;padding:.1rem 0;display:grid;grid-template-columns:8.5rem minmax(0,1fr);gap:.75rem;
text-align:left;white-space:normal}
table.listed td::before{content:attr(data-head);color:var(--soft);font-size:.8125rem;line-height:1.9}
table.listed td:first-child{display:block;font-weight:550;padding-bottom:.3rem}
table.listed td:first-child::before{content:none}
table.listed .small{font-weight:400}table.listed .line{white-space:normal}
dl.facts{grid-template-columns:minmax(0,1fr);gap:0}dl.facts dd{margin-bottom:.5rem}
td,th{padding-right:.75rem}
}
@media print{body{padding:0}section{break-inside:avoid}details>*{display:block}}
"""

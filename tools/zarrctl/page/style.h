// The style sheet of a page: for paper and screens of any width, dark or light.
#pragma once

#include <string_view>

namespace zarrfs::ctl {

inline constexpr std::string_view kPageStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1d2329; --dim: #5c6670; --line: #d9dee3;
  --box: #f5f7f9; --link: #0b5cad; --warn: #9a2b00; --warnbox: #fdf0e8 }
@media (prefers-color-scheme: dark) { :root { --back: #14181c; --text: #e4e8ec; --dim: #9aa5b0;
  --line: #313942; --box: #1d2329; --link: #7db8f0; --warn: #ffb08a; --warnbox: #33221a } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0 }
h2 { font-size: 1.15rem; margin: 0 0 .3rem; font-weight: 650 }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
p { margin: .3rem 0 }
.dim, .note, figcaption, .program { color: var(--dim); font-size: .88rem }
.meaning { font-size: 1.02rem }
.warn { color: var(--warn); background: var(--warnbox); border-left: 3px solid currentColor;
  padding: .25rem .6rem; font-size: .92rem }
nav { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: 1rem 0 }
nav ul { list-style: none; margin: 0; padding-left: 1.1rem }
nav > ul { padding-left: 0 }
nav .label { color: var(--dim); font-size: .88rem; margin-left: .5rem }
section { border-top: 1px solid var(--line); padding: 1.1rem 0 }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: flex-start; margin: .6rem 0 }
figure { margin: 0; max-width: 100%; width: 24rem }
img { display: block; max-width: 100%; image-rendering: pixelated; background: var(--box);
  border: 1px solid var(--line) }
figcaption span { display: block }
.scale { display: flex; gap: .5rem; align-items: center; font-size: .85rem; margin: .3rem 0;
  max-width: 24rem }
.scale i { flex: 1; height: .7rem; background: linear-gradient(90deg, #440154, #472d7b, #3b528b,
  #2c728e, #21918c, #28ae80, #5ec962, #addc30, #fde725) }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .85rem; color: var(--dim) }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem;
  border: 1px solid var(--line); vertical-align: -.1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .92rem; margin: .4rem 0 }
th, td { text-align: left; vertical-align: top; padding: .12rem .9rem .12rem 0 }
th { font-weight: 500; color: var(--dim); white-space: nowrap }
.views td, .views th { border-bottom: 1px solid var(--line) }
.not td { color: var(--warn) }
.not .for, .for { color: var(--dim) }
details { margin: .5rem 0 }
summary { cursor: pointer; color: var(--link); font-size: .92rem }
pre { margin: 0 0 .5rem; padding: .4rem .6rem; background: var(--box); border-radius: 4px;
  overflow-x: auto; font: .85rem/1.45 ui-monospace, monospace; user-select: all }
.program { margin: .4rem 0 .1rem }
@media (max-width: 40rem) { .views .for { display: none } }
@media print {
  :root { color-scheme: light; --back: #fff; --text: #000; --dim: #444; --line: #bbb; --box: #f4f4f4;
    --link: #000; --warn: #7a2200; --warnbox: #fff }
  body { font-size: 10pt; max-width: none; padding: 0 }
  figure, tr, pre { break-inside: avoid }
  h2 { break-after: avoid }
  pre { white-space: pre-wrap }
  img, .scale i, .legend i { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  details::details-content { content-visibility: visible; block-size: auto }
}
)";

}  // namespace zarrfs::ctl

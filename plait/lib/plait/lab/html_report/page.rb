# frozen_string_literal: true

module Plait
  module Lab
    class HtmlReport
      # The page's own JavaScript and style.
      module Page
        # Comes first: it keeps the page's later errors where a person, or a test, finds them.
        ERRORS = <<~JAVASCRIPT
          "use strict";
          function plaitNote(message) {
            var root = document.documentElement;
            root.dataset.errors = (root.dataset.errors ? root.dataset.errors + "\\n" : "") + message;
          }
          window.addEventListener("error", function (event) { plaitNote(event.message); });
          window.addEventListener("unhandledrejection", function (event) { plaitNote(String(event.reason)); });
          document.addEventListener("securitypolicyviolation", function (event) { plaitNote("blocked: " + event.blockedURI); });
        JAVASCRIPT

        # Drawings use currentColor, so that they follow the page between light and dark without a new drawing.
        DRAW = <<~JAVASCRIPT
          (function () {
            var specs = JSON.parse(document.getElementById("plots").textContent);
            var narrow = window.innerWidth < 600;
            var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
            var text = { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 12, titleFontSize: 12 };
            var config = {
              background: null, font: "system-ui, sans-serif", view: { stroke: null },
              axis: Object.assign({ gridColor: "currentColor", gridOpacity: 0.12, domainColor: "currentColor",
                                    domainOpacity: 0.4, tickColor: "currentColor", tickOpacity: 0.4 }, text),
              axisY: { labelLimit: narrow ? 120 : 220 },
              axisX: { tickCount: narrow ? 4 : 8 },
              legend: Object.assign({ columns: narrow ? 2 : 6, labelLimit: 140 }, text),
              text: { fontSize: 12 }
            };
            var options = {
              mode: "vega-lite", renderer: "svg", config: config, tooltip: { theme: dark ? "dark" : "light" },
              actions: narrow ? false : { export: true, source: false, compiled: false, editor: false }
            };
            var drawings = Object.keys(specs).map(function (id) {
              var place = document.getElementById(id);
              return vegaEmbed(place, specs[id], options).then(function () {
                place.dataset.drawn = "yes";
                place.closest("figure").querySelector("details.figures").open = false;
              }).catch(function (error) {
                plaitNote(id + ": " + error);
                place.classList.add("undrawn");
              });
            });
            Promise.all(drawings).then(function () { document.documentElement.dataset.drawn = drawings.length; });
          })();
        JAVASCRIPT

        # Light or dark as its reader's system, down to the width of a phone.
        STYLE = <<~CSS
          :root { color-scheme: light dark; --ground: #fdfdfc; --ink: #1c1f24; --faint: #5c6470; --line: #d9dce1;
                  --panel: #f2f4f7; --accent: #2468a8; --warn: #8f3b00; --warn-ground: #fff1e2; }
          @media (prefers-color-scheme: dark) {
            :root { --ground: #15171b; --ink: #e6e8eb; --faint: #9aa3af; --line: #343a43; --panel: #1e2127;
                    --accent: #7db7ee; --warn: #ffbd80; --warn-ground: #38230f; }
          }
          * { box-sizing: border-box; }
          body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
                 font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
          h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.01em; }
          h2 { font-size: 1.4rem; line-height: 1.25; margin: 2.75rem 0 .5rem; padding-top: 1.25rem; overflow-wrap: anywhere;
               border-top: 1px solid var(--line); }
          h3 { font-size: 1.02rem; margin: 1.75rem 0 .5rem; overflow-wrap: anywhere; }
          h4 { font-size: .9rem; font-weight: 500; margin: .6rem 0 0; overflow-wrap: anywhere; }
          p { margin: .4rem 0 .8rem; }
          .where, figcaption, .notes, footer { color: var(--faint); font-size: .9rem; }
          figcaption { margin: .25rem 0 .4rem; }
          ul { margin: .5rem 0 1rem; padding-left: 1.2rem; }
          .verdict { list-style: none; padding: .8rem 1rem; background: var(--panel); border-left: 4px solid var(--accent);
                     border-radius: 4px; font-size: 1.06rem; }
          .verdict li + li { margin-top: .35rem; }
          .warning { padding: .7rem 1rem; background: var(--warn-ground); color: var(--warn); border-radius: 4px; font-weight: 600; }
          .scroll { overflow-x: auto; margin: .25rem 0 .75rem; }
          table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
          th, td { padding: .32rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
          td.right, th.right { text-align: right; white-space: nowrap; }
          th, td, td.left, th.left { text-align: left; }
          th.right { text-align: right; }
          tbody th { font-weight: 600; min-width: 11rem; position: sticky; left: 0; background: var(--ground); }
          thead th.right { white-space: normal; }
          thead th { color: var(--faint); font-weight: 500; vertical-align: bottom; }
          figure { margin: 1.5rem 0; }
          .plot { width: 100%; color: var(--ink); }
          .plot svg { display: block; max-width: 100%; }
          .plot.undrawn { display: none; }
          .vega-embed { width: 100%; }
          .vega-embed summary { opacity: .35 !important; }
          details > summary { cursor: pointer; color: var(--accent); font-size: .9rem; }
          details[open] > summary { margin-bottom: .3rem; }
          @media (max-width: 600px) {
            body { padding: 1rem .8rem 3rem; }
            th, td { padding: .3rem .45rem; }
            tbody th { min-width: 7rem; }
          }
          @media print { .vega-embed summary { display: none; } h2 { break-before: page; } figure { break-inside: avoid; } }
        CSS
      end
      private_constant :Page
    end
  end
end

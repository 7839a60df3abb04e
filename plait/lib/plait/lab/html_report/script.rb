# frozen_string_literal: true

module Plait
  module Lab
    class HtmlReport
      # The page's own JavaScript.
      module Script
        # Comes first: what goes wrong later is kept where a person, or a test, can find it.
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

        # Drawings use currentColor, so that they follow the page between light and dark without being drawn anew.
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
      end
    end
  end
end

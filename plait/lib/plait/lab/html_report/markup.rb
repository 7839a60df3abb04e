# frozen_string_literal: true

module Plait
  module Lab
    class HtmlReport
      # Elements of HTML and SVG as text.
      module Markup
        # Labels and errors come from users' code.
        ESCAPES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;", "'" => "&#39;" }.freeze
        # The colour of text, and the name of SVG.
        INK = "currentColor"
        XMLNS = "http://www.w3.org/2000/svg"
        # One colour for a mechanism in every drawing; readers with the usual kinds of colour blindness tell them apart, on
        # white and on black.
        COLOURS = { "sequence" => "#8a8a8a", "threads" => "#3b8fd6", "fibers" => "#e0822c", "hybrid" => "#a57fd1",
                    "processes" => "#2ca089", "ractors" => "#d05c8e" }.freeze

        module_function

        # @return [String] fit for the contents of an element and of an attribute
        def text(value) = Text.clean(value).gsub(/[&<>"']/, ESCAPES)

        # @param content [String, nil] markup; nil: an element without contents
        # @param attributes [Hash{Symbol => Object}] nil ones are left out
        def element(name, content = nil, **attributes)
          opened = attributes.compact.map { |attribute, value| " #{attribute.to_s.tr("_", "-")}=\"#{text(value)}\"" }.join
          content ? "<#{name}#{opened}>#{content}</#{name}>" : "<#{name}#{opened}/>"
        end

        # @return [String] nothing for no sentences
        def list(sentences, kind)
          sentences.empty? ? "" : element(:ul, sentences.map { |one| element(:li, text(one)) }.join, class: kind)
        end

        # @param colours [Hash{String => String}] by name
        def legend(colours)
          entries = colours.map { |name, colour| "<span><i style=\"background:#{colour}\"></i>#{text(name)}</span>" }
          element(:p, entries.join(" "), class: "legend")
        end

        def grid(table)
          head = element(:tr, cells(table, table.columns) { |content, side, _| element(:th, content, scope: "col", class: side) })
          body = table.rows.map do |row|
            element(:tr, cells(table, row) do |content, side, column|
              column.zero? ? element(:th, content, scope: "row", class: side) : element(:td, content, class: side)
            end)
          end
          scrolled(element(:table, element(:thead, head) + element(:tbody, body.join("\n"))), table.title)
        end

        # @return [String] what may be wider than a phone
        def scrolled(content, title) = element(:div, content, class: "scroll", tabindex: 0, role: "region", aria_label: title)

        # @param name [String] of a mechanism, "processes × fibers", or of a line
        def colour(name) = COLOURS.fetch(name) { "hsl(#{name.sum * 47 % 360}, 45%, 52%)" }

        def cells(table, values)
          values.zip(table.alignments).each_with_index.map { |(value, side), column| yield text(value), side, column }.join
        end

        # Light or dark as its reader's system, down to the width of a phone. Drawings are as wide as their place, by
        # percentages: their texts keep their size.
        STYLE = <<~CSS
          :root { color-scheme: light dark; --ground: #fdfdfc; --ink: #1c1f24; --faint: #5c6470; --line: #d9dce1;
                  --panel: #f2f4f7; --accent: #2468a8; --warn: #8f3b00; --warn-ground: #fff1e2; }
          @media (prefers-color-scheme: dark) {
            :root { --ground: #15171b; --ink: #e6e8eb; --faint: #9aa3af; --line: #343a43; --panel: #1e2127;
                    --accent: #7db7ee; --warn: #ffbd80; --warn-ground: #38230f; }
          }
          * { box-sizing: border-box; }
          body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
                 font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
          h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .25rem; }
          h2 { font-size: 1.35rem; line-height: 1.25; margin: 2.5rem 0 .5rem; padding-top: 1.25rem; overflow-wrap: anywhere;
               border-top: 1px solid var(--line); }
          h3, h4 { font-size: 1.02rem; margin: 1.5rem 0 .4rem; overflow-wrap: anywhere; }
          p { margin: .4rem 0 .8rem; }
          a, summary { color: var(--accent); }
          summary { cursor: pointer; font-size: .95rem; margin: .4rem 0; }
          nav ul { columns: 18rem; }
          .where, figcaption, .notes, footer { color: var(--faint); font-size: .9rem; }
          figcaption { margin-top: .4rem; }
          ul { margin: .5rem 0 1rem; padding-left: 1.2rem; }
          .differing, .warning { padding: .7rem 1rem; background: var(--warn-ground); color: var(--warn); border-radius: 4px; }
          .scroll { overflow-x: auto; margin: .25rem 0 .75rem; }
          table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
          th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; text-align: left; }
          .right { text-align: right; }
          td.right { white-space: nowrap; }
          tbody th { font-weight: 600; }
          .scroll tbody th { position: sticky; left: 0; min-width: 8rem; background: var(--ground); }
          thead th { color: var(--faint); font-weight: 500; vertical-align: bottom; }
          figure { margin: 1rem 0 1.5rem; }
          figure svg { display: block; width: 100%; overflow: visible; color: var(--ink); }
          figure text { font-size: 12px; fill: currentColor; }
          .lines th, .lines td { border: 0; padding: .12rem .4rem .12rem 0; vertical-align: middle; }
          .lines th { font-weight: 400; width: 30%; overflow-wrap: anywhere; }
          .lines .use th, .lines .use .right { font-weight: 700; }
          .lines .axis { padding-bottom: .4rem; }
          .legend span { white-space: nowrap; margin-right: 1rem; font-size: .9rem; }
          .legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em; }
          @media (max-width: 600px) {
            body { padding: 1rem .8rem 3rem; }
            th, td { padding: .3rem .4rem; }
            .axis text:nth-of-type(even) { display: none; }
            .answer thead { display: none; }
            .answer tr, .answer th, .answer td { display: block; border: 0; padding: .05rem 0; text-align: left;
                                                 white-space: normal; }
            .answer tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
            .answer td:nth-child(2) { font-weight: 700; }
            .answer td:nth-child(4):not(:empty)::after { content: " faster"; }
            .lines td.right { white-space: normal; }
            .lines td:nth-child(2) { width: 45%; }
          }
          @media print { figure { break-inside: avoid; } }
        CSS
      end
    end
  end
end

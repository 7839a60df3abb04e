# frozen_string_literal: true

require "json"
require_relative "../version"
require_relative "answer"
require_relative "html_report/page"
require_relative "plots"
require_relative "../values/quantity"
require_relative "text"

module Plait
  module Lab
    # Reports as one page that needs nothing but a browser: no network, no other file. Each drawing has its figures as a
    # table below it, which is what is left where scripts don't run.
    class HtmlReport
      # The drawing library as it comes with the vega gem, ready to stand inside a page.
      module Vega
        SCRIPTS = %w[vega vega-lite vega-embed].freeze
        private_constant :SCRIPTS

        module_function

        # @return [String, nil] why there are no drawings
        def missing
          return if folder

          "The drawings are left out: the gem vega is not installed. To add it: " \
            "#{defined?(Bundler) ? "bundle add" : "gem install"} vega"
        end

        # @return [Array<String>] JavaScript that holds nothing that would end a script element
        def sources
          SCRIPTS.map do |name|
            inline(File.read(File.join(folder, "vendor/assets/javascripts/#{name}.js"), encoding: "UTF-8"))
          end
        end

        # Its licence (BSD, three clauses) asks that it goes along with every copy.
        # @return [String] an HTML comment
        def licences
          texts = SCRIPTS.filter_map do |name|
            path = File.join(folder, "licenses/LICENSE-#{name}.txt")
            "#{name}\n\n#{File.read(path, encoding: "UTF-8")}" if File.exist?(path)
          end
          "<!--\n#{texts.join("\n").gsub("--", "- -")}\n-->"
        end

        # Ruby may have been started with --disable=gems.
        def folder = @folder ||= defined?(Gem) ? find : nil

        def find
          (Gem.loaded_specs["vega"] || Gem::Specification.find_by_name("vega")).full_gem_path
        rescue Gem::MissingSpecError
          nil
        end

        # In a string or an expression `\/` is `/` and `\!` is `!`, and elsewhere JavaScript has neither of the two.
        def inline(source) = source.gsub(%r{</(?=script)}i, "<\\/").gsub("<!--", "<\\!--")

        private_class_method :folder, :find, :inline
      end

      # No outside address can be asked even by mistake. Vega compiles its expressions, hence unsafe-eval.
      POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
      # Labels and errors come from users' code.
      ESCAPES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;", "'" => "&#39;" }.freeze
      private_constant :POLICY, :ESCAPES

      def initialize(reports)
        @reports = reports
        @specs = {}
        @figures = 0
      end

      # @return [String] the page
      def to_s
        body = [header, *@reports.map { |report| section(report) }, footer].join("\n")
        <<~HTML
          <!DOCTYPE html>
          <html lang="en">
          <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <meta http-equiv="Content-Security-Policy" content="#{text(POLICY)}">
          <meta name="generator" content="plait #{VERSION}">
          <title>Plait lab</title>
          <style>#{Page::STYLE}</style>
          <script>#{Page::ERRORS}</script>
          </head>
          <body>
          #{body}
          #{scripts}
          </body>
          </html>
        HTML
      end

      private

      def text(value) = Text.clean(value).gsub(/[&<>"']/, ESCAPES)

      def header
        environments = @reports.map { |report| report.environment.to_s }.uniq
        lines = environments.map { |line| "<p class=\"where\">#{text(line)}</p>" }
        "<header><h1>Plait lab</h1>#{lines.join}#{titled(Answer.table(@reports.flat_map(&:answers)), "")}</header>"
      end

      def section(report)
        <<~HTML
          <section>
          <h2>#{text(report.workload.title)}</h2>
          #{paragraph(report.workload.description)}
          #{warnings(report)}
          #{list(report.mismatches, "verdict")}
          #{report.tables.map { |table| titled(table, report.workload.title) }.join("\n")}
          #{Plots.of(report).map { |plot| figure(plot) }.join("\n")}
          #{list(report.workload.notes + report.notes, "notes")}
          </section>
        HTML
      end

      def paragraph(content, kind = nil)
        content ? "<p#{" class=\"#{kind}\"" if kind}>#{text(content)}</p>" : ""
      end

      def list(sentences, kind)
        sentences.empty? ? "" : "<ul class=\"#{kind}\">#{sentences.map { |one| "<li>#{text(one)}</li>" }.join}</ul>"
      end

      def warnings(report)
        found = []
        found << "The results differ, so nothing is said about speed." if report.mismatch?
        found << "It was interrupted: this is what had been measured until then." if report.interrupted?
        found << "It ended early: #{report.error.message}" if report.error
        found.map { |warning| "<p class=\"warning\" role=\"alert\">#{text(warning)}</p>" }.join
      end

      # The section is called like the workload already.
      def titled(table, prefix)
        title = table.title.delete_prefix("#{prefix}: ")
        "<h3>#{text(title[0].upcase + title[1..])}</h3>#{grid(table)}#{list(table.notes, "notes")}"
      end

      def grid(table)
        <<~HTML.chomp
          <div class="scroll" tabindex="0" role="region" aria-label="#{text(table.title)}"><table>
          <thead><tr>#{cells(table, table.columns, "th scope=\"col\"")}</tr></thead>
          <tbody>#{table.rows.map { |row| "<tr>#{cells(table, row, "td")}</tr>" }.join("\n")}</tbody>
          </table></div>
        HTML
      end

      def cells(table, values, tag)
        values.zip(table.alignments).each_with_index.map do |(value, alignment), column|
          opened = column.zero? && tag == "td" ? "th scope=\"row\"" : tag
          "<#{opened} class=\"#{alignment}\">#{text(value)}</#{opened[0, 2]}>"
        end.join
      end

      def figure(plot)
        id = "figure#{@figures += 1}"
        <<~HTML.chomp
          <figure aria-labelledby="#{id}">
          <h3 id="#{id}">#{text(plot.title)}</h3>
          #{plot.drawings.map { |label, spec| drawing(label, spec) }.join("\n")}
          <figcaption>#{text(plot.caption)}</figcaption>
          <details class="figures" open><summary>The figures</summary>#{grid(plot.table)}</details>
          </figure>
        HTML
      end

      # Empty until the page's script has drawn it.
      def drawing(label, spec)
        id = "plot#{@specs.size}"
        @specs[id] = spec
        "#{"<h4>#{text(label)}</h4>" unless label.empty?}<div class=\"plot\" id=\"#{id}\"></div>"
      end

      def footer
        facts = @reports.first&.environment.to_h.map { |name, value| [name.to_s.tr("_", " "), shown(name, value)] }
        rows = facts.map { |name, value| "<tr><th scope=\"row\">#{text(name)}</th><td>#{text(value)}</td></tr>" }
        seeds = @reports.filter_map(&:seed).uniq
        <<~HTML
          <footer>
          <h2>How it was measured</h2>
          <p>Every row ran in a fresh process, all rows in a new random order each round, after a warm-up; the results were
          compared before any speed was looked at. Rows are compared by the ratio of their times inside each round. “same”
          means that the exact interval of the median ratio lies within 5 %, “?” that the rounds can't tell. A dash means
          that the figure is unknown here.</p>
          <div class="scroll"><table><tbody>#{rows.join("\n")}<tr><th scope="row">seed of the order</th>
          <td>#{text(seeds.join(", "))}</td></tr></tbody></table></div>
          #{paragraph(Vega.missing)}
          </footer>
        HTML
      end

      def shown(name, value)
        return Quantity.bytes(value) if name == :memory_bytes

        value.is_a?(Hash) ? value.map { |key, version| "#{key} #{version}" }.join(", ") : value || Quantity::UNKNOWN
      end

      def scripts
        return "" if @specs.empty? || Vega.missing

        <<~HTML
          <script type="application/json" id="plots">#{json(@specs)}</script>
          #{Vega.licences}
          #{Vega.sources.map { |source| "<script>#{source}</script>" }.join("\n")}
          <script>#{Page::DRAW}</script>
        HTML
      end

      # Nothing in it may end the script element it stands in.
      def json(value) = JSON.generate(value).gsub("<", "\\u003c").gsub("\u2028", "\\u2028").gsub("\u2029", "\\u2029")
    end

    private_constant :HtmlReport
  end
end

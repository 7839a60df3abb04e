# frozen_string_literal: true

require_relative "answer"
require_relative "environment"
require_relative "html_report/curve"
require_relative "html_report/lines"
require_relative "html_report/markup"
require_relative "tables"

module Plait
  module Lab
    # Reports as one page of HTML and SVG: no script, no network, no other file. The answer stands on the first screen, then a
    # section for each report: one drawing for each subject, the others and all figures folded below.
    class HtmlReport
      include Markup

      # Nothing may run, and no outside address can be asked even by mistake.
      POLICY = "default-src 'none'; style-src 'unsafe-inline'"
      MANNER = "Every row ran in a fresh process, all rows in a new random order each round, after a warm-up; the results were " \
               "compared before any speed was looked at. Rows are compared by the ratio of their times inside each round. " \
               "“same” means that the exact interval of the median ratio lies within 5 %, “?” that the rounds can't tell. " \
               "A dash means that the figure is unknown here."
      # Drawings that are folded below the first one.
      FURTHER = [Split, Latency, Resident, Proportional].freeze

      # @param records [Array<Hash>] see {Report#to_h}
      def initialize(records)
        @records = records
      end

      # @return [String] the page
      def to_s
        body = [header, contents, *@records.each_with_index.map { |record, place| section(record, place) }, timelines, footer]
        <<~HTML
          <!DOCTYPE html>
          <html lang="en">
          <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <meta http-equiv="Content-Security-Policy" content="#{text(POLICY)}">
          <meta name="generator" content="plait #{VERSION}">
          <title>Plait lab</title>
          <style>#{Markup::STYLE}</style>
          </head>
          <body>
          #{body.join("\n")}
          </body>
          </html>
        HTML
      end

      private

      def header
        table = AnswerTable.of(@records.flat_map { |record| record[:answers] })
        environments = @records.map { |record| Environment.line(record[:environment]) }.uniq
        lines = environments.map { |line| element(:p, text(line), class: "where") }
        warnings = @records.flat_map { |record| Tables.new(record).warnings }
        "<header><h1>Plait lab</h1>#{lines.join}#{warned(warnings)}#{element(:div, grid(table), class: "answer")}" \
          "#{list(table.notes, "notes")}</header>"
      end

      def contents
        links = @records.each_with_index.map { |record, place| [record.dig(:workload, :title), "part#{place}"] }
        links << [Timelines::TITLE, "timelines"] if timelines
        links << ["How it was measured", "manner"]
        items = links.map { |title, target| element(:li, element(:a, text(title), href: "##{target}")) }
        element(:nav, element(:ul, items.join), aria_label: "Contents")
      end

      def section(record, place)
        subjects = Tables.new(record).groups.map { |group, rows| subject(record, group, rows) }
        notes = record.dig(:workload, :notes) + record[:notes]
        element(:section, [element(:h2, text(record.dig(:workload, :title))),
                           *record.dig(:workload, :description)&.then { |about| element(:p, text(about)) },
                           list(Tables.new(record).mismatches, "differing"),
                           *subjects, figures(record), list(notes, "notes")].join("\n"), id: "part#{place}")
      end

      def warned(sentences) = sentences.map { |warning| element(:p, text(warning), class: "warning", role: "alert") }.join

      def subject(record, group, rows)
        settings = { use: record[:answers].find { |answer| answer[:group] == group }&.fetch(:use, nil),
                     processors: record.dig(:environment, :cpus) || 1 }
        curve = Curve.new(rows, record.dig(:workload, :unit))
        first, *rest = [Time.new(rows, **settings), curve].rotate(curve.whole? ? 1 : 0).filter_map(&:to_html)
        rest += FURTHER.filter_map { |kind| kind.new(rows, **settings).to_html }
        [*(element(:h3, text(group)) if group), *first,
         *(folded("Where the time goes, single items, memory", rest.join) if rest.any?)].join
      end

      def folded(summary, content) = element(:details, element(:summary, text(summary)) + content)

      def figures(record)
        tables = Tables.new(record).all
        return "" if tables.empty?

        prefix = "#{record.dig(:workload, :title)}: "
        shown = tables.map do |table|
          title = table.title.delete_prefix(prefix).sub(/\A./, &:upcase)
          "#{element(:h4, text(title))}#{grid(table)}#{list(table.notes, "notes")}"
        end
        folded("The figures", shown.join)
      end

      # Once on the page, of the first report that has some.
      def timelines = @timelines ||= @records.lazy.filter_map { |record| drawn_timelines(record) }.first

      def drawn_timelines(record)
        drawn = Timelines.new(record[:timelines]).to_html or return
        content = [element(:h2, Timelines::TITLE), element(:p, text(record.dig(:workload, :title))), drawn].join
        element(:section, content, id: "timelines")
      end

      def footer
        rows = facts.map { |name, value| element(:tr, element(:th, text(name), scope: "row") + element(:td, text(value))) }
        table = element(:table, element(:tbody, rows.join("\n")))
        element(:footer, "#{element(:h2, "How it was measured")}#{element(:p, text(MANNER))}" \
                         "#{scrolled(table, "Where it was measured")}", id: "manner")
      end

      # @return [Array<Array(String, Object)>] names and values
      def facts
        known = @records.first&.fetch(:environment).to_h
        known = known.map { |name, value| [name.to_s.tr("_", " "), Environment.words(name, value)] }
        known << ["seed of the order", @records.filter_map { |record| record[:seed] }.uniq.join(", ")]
      end
    end

    private_constant :HtmlReport
  end
end

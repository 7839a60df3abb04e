# frozen_string_literal: true

module Plait
  module Protocols
    # Writes figures as Prometheus reads them: its text format, version 0.0.4
    # (https://prometheus.io/docs/instrumenting/exposition_formats/).
    class Prometheus
      # Of an answer that holds the text.
      CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

      def initialize
        @lines = []
      end

      def counter(name, help, value) = family(name, "counter", help, { {} => value })

      def gauge(name, help, value) = family(name, "gauge", help, { {} => value })

      # Figures of one name, which labels distinguish. Without rows it writes nothing.
      # @param type [String] counter or gauge
      # @param rows [Hash{Hash => Numeric}] labels => value
      def family(name, type, help, rows)
        heading(name, type, help) unless rows.empty?
        rows.each { |labels, value| line(name, labels, value) }
        self
      end

      # How many times something took how long.
      # @param bounds [Array<Numeric>] the most that belongs into each bucket; one more takes the rest
      # @param rows [Hash{Hash => Array}] labels => how many are in each bucket (not added up), and the sum of all values
      def histogram(name, help, bounds, rows)
        heading(name, "histogram", help) unless rows.empty?
        rows.each { |labels, (counts, sum)| buckets(name, labels, bounds, counts, sum) }
        self
      end

      def to_s = @lines.join

      private

      def heading(name, type, help) = @lines << "# HELP #{name} #{help}\n# TYPE #{name} #{type}\n"

      def line(name, labels, value) = @lines << "#{name}#{written(labels)} #{value}\n"

      # Each bucket counts the values of all lower buckets, too.
      def buckets(name, labels, bounds, counts, sum)
        total = 0
        [*bounds, "+Inf"].zip(counts) { |bound, count| line("#{name}_bucket", labels.merge(le: bound), total += count) }
        line("#{name}_sum", labels, sum)
        line("#{name}_count", labels, total)
      end

      def written(labels)
        return "" if labels.empty?

        "{#{labels.map { |key, value| "#{key}=\"#{escaped(value.to_s)}\"" }.join(",")}}"
      end

      def escaped(text) = text.gsub(/[\\"\n]/) { |byte| byte == "\n" ? "\\n" : "\\#{byte}" }
    end
  end
end

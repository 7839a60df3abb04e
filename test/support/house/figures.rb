# frozen_string_literal: true

require "json"
require_relative "../fresh_ruby"
require_relative "../root"

module Support
  module House
    # How large the house is: a row of figures for each gem and for all of them, as `rake house` prints it.
    class Figures
      # What only wires Ruby together.
      CEREMONY = /\A\s*(?:require(?:_relative)?\b|module\b|end\b\s*\z|private_constant\b|# frozen_string_literal)/
      INCLUDE = /^\s*#\s*include\s*"([^"]+)"/
      HEADINGS = ["gem", "Ruby files", "lines", "of code", "ceremony", "public constants", "C files",
                  "largest circle of includes"].freeze

      # Constants that a program can reach from Plait, each once. A room that can't be loaded here is left out.
      REACHABLE = <<~RUBY
        require "json"
        require "plait"
        %i[HTTP Server RPC Shard DB Pool Lab Scheduler].each { |name| Plait.const_get(name) }
        seen = {}
        title = Module.instance_method(:name)
        walk = lambda do |mod|
          name = title.bind_call(mod)
          next if seen[name]

          seen[name] = Object.const_source_location(name)&.first
          mod.constants(false).each do |constant_name|
            next if mod.autoload?(constant_name, false)

            constant = mod.const_get(constant_name, false)
            walk.(constant) if constant.is_a?(Module) && title.bind_call(constant).to_s.start_with?("Plait::")
          end
        end
        walk.(Plait)
        puts JSON.generate(seen.values.grep(String))
      RUBY

      # @return [String] a table in Markdown
      def to_s
        rows = FAMILY.map { |gem| row(gem) }
        totals = ["all", *sums(rows)]
        [HEADINGS, HEADINGS.map { "---" }, *rows, totals].map do |cells|
          "| #{cells.map do |cell|
            text(cell)
          end.join(" | ")} |"
        end.join("\n")
      end

      private

      def row(gem)
        lines = ruby(gem).flat_map { |path| File.readlines(path) }
        code = lines.grep_v(/\A\s*(#.*)?\z/)
        [gem, ruby(gem).size, lines.size, code.size, share(code), reachable.count { |path| path.start_with?("#{ROOT}/#{gem}/") },
         c(gem).size, circle(c(gem))]
      end

      def sums(rows)
        files, lines, code, _, constants, sources, = rows.map do |row|
          row.drop(1)
        end.transpose.map { |column| column.sum rescue nil } # rubocop:disable Style/RescueModifier -- a share is no number
        all = FAMILY.flat_map { |gem| ruby(gem) }.flat_map { |path| File.readlines(path) }.grep_v(/\A\s*(#.*)?\z/)
        [files, lines, code, share(all), constants, sources, rows.map(&:last).max]
      end

      def text(cell) = cell.is_a?(Integer) ? cell.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",") : cell

      def share(code) = "#{(100.0 * code.grep(CEREMONY).size / [code.size, 1].max).round} %"

      def ruby(gem) = Dir["#{ROOT}/#{gem}/lib/**/*.rb"]

      def c(gem) = Dir["#{ROOT}/#{gem}/ext/**/*.{c,h,inc}"]

      def reachable = @reachable ||= JSON.parse(FreshRuby.run(REACHABLE, flags: ["-W0"]).out)

      # @return [Integer] files of the largest set of which each includes the others, directly or not; a file's own header
      #   and its source are one
      def circle(paths)
        units = paths.group_by { |path| path.sub(/\.\w+\z/, "") }
        uses = units.transform_values { |files| files.flat_map { |file| included(file) }.uniq }
        reach = uses.keys.to_h { |unit| [unit, reached(unit, uses)] }
        reach.map { |unit, all| all.count { |other| reach[other]&.include?(unit) } }.max || 0
      end

      def included(file)
        File.read(file).scan(INCLUDE).flatten.map { |name| File.expand_path(name, File.dirname(file)).sub(/\.\w+\z/, "") }
      end

      def reached(unit, uses)
        found = []
        waiting = uses[unit].dup
        while (one = waiting.shift)
          next if found.include?(one)

          found << one
          waiting.concat(uses.fetch(one, []))
        end
        found
      end
    end
  end
end

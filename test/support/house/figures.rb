# frozen_string_literal: true

require "json"
require_relative "../fresh_ruby"
require_relative "../root"
require_relative "ceremony"
require_relative "siblings"

module Support
  module House
    # How large the house is: a row of figures for each gem and for all of them, as `rake house` prints it.
    class Figures
      INCLUDE = /^\s*#\s*include\s*"([^"]+)"/
      HEADINGS = ["gem", "Ruby files", "lines", "of code", "ceremony", "public constants", "for siblings", "C files",
                  "largest circle of includes"].freeze
      # Of the number that the guide shows.
      TOLERANCE = 0.05
      FILE = "guides/internals.md"
      BEGINNING = "<!-- figures: printed by `rake house` -->"
      ENDING = "<!-- end of figures -->"
      BLOCK = /^#{Regexp.escape(BEGINNING)}\n.*^#{Regexp.escape(ENDING)}$/m

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
        puts JSON.generate(seen.select { |_, path| path.is_a?(String) })
      RUBY

      # @return [String] a table in Markdown
      def to_s
        [HEADINGS, HEADINGS.map { "---" }, *rows].map { |row| "| #{row.map { |cell| text(cell) }.join(" | ")} |" }.join("\n")
      end

      # Puts the table into the guide.
      def write
        path = File.join(ROOT, FILE)
        File.write(path, File.read(path).sub(BLOCK) { [BEGINNING, to_s, ENDING].join("\n") })
      end

      # @return [Array<String>] numbers in the guide that are further from the code than the tolerance
      def outdated
        written = File.read(File.join(ROOT, FILE))[BLOCK].to_s.lines.grep(/\A\| (?!gem|---)/).map { |line| cells(line) }
        rows.flat_map do |gem, *numbers|
          old = written.assoc(gem) or next ["#{gem}: no row"]
          numbers.zip(old.drop(1), HEADINGS.drop(1)).filter_map do |now, then_, heading|
            "#{gem}, #{heading}: #{then_}, now #{text(now)}" unless near?(now, then_)
          end
        end
      end

      private

      def rows = @rows ||= [*FAMILY.map { |gem| row(gem, [gem]) }, row("all", FAMILY)]

      def row(name, gems)
        paths = gems.flat_map { |gem| ruby(gem) }
        ceremony = Ceremony.of(paths)
        own, shared = constants(gems).partition { |constant| !Siblings.names.include?(constant) }
        [name, paths.size, paths.sum { |path| File.foreach(path).count }, ceremony.code, ceremony.share.round(1),
         own.size, shared.size, gems.sum { |gem| c(gem).size }, gems.map { |gem| circle(c(gem)) }.max]
      end

      def constants(gems)
        folders = gems.map { |gem| "#{ROOT}/#{gem}/" }
        reachable.filter_map { |name, path| name if path.start_with?(*folders) }
      end

      def text(cell)
        case cell
        when Float then "#{cell} %"
        when Integer then cell.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
        else cell
        end
      end

      def cells(line) = line.split("|").map(&:strip).reject(&:empty?)

      # A small number may differ by two.
      def near?(now, written) = (now - written.to_s.delete(",").to_f).abs <= [2, now * TOLERANCE].max

      def ruby(gem) = Dir["#{ROOT}/#{gem}/lib/**/*.rb"]

      def c(gem) = Dir["#{ROOT}/#{gem}/ext/**/*.{c,h,inc}"]

      # @return [Hash{String => String}] name => file
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

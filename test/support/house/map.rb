# frozen_string_literal: true

require_relative "blueprint"
require_relative "engines"

module Support
  module House
    # The gems, their rooms and folders of C, and the arrows between them: a drawing (Mermaid) in guides/internals.md.
    class Map
      FILE = "guides/internals.md"
      BEGINNING = "<!-- map: drawn from the code by `rake map` -->"
      ENDING = "<!-- end of map -->"
      BLOCK = /^#{Regexp.escape(BEGINNING)}\n.*^#{Regexp.escape(ENDING)}$/m

      class Unmarked < StandardError; end

      # @param root [String] the folder of the project
      def initialize(root, blueprint = Blueprint.read(root), engines = Engines.read(root))
        @path = File.join(root, FILE)
        @blueprint = blueprint
        @engines = engines
      end

      # @return [Boolean] whether the drawing in the file is what the code says
      def true? = written == block

      # @return [Boolean] whether it had to be changed
      def write
        old = File.read(@path)
        raise Unmarked, "#{FILE} has no block from #{BEGINNING} to #{ENDING}" unless BLOCK.match?(old)

        new = old.sub(BLOCK) { block }
        File.write(@path, new) unless new == old
        new != old
      end

      # @return [String, nil] what is between the marks now, with them
      def written = File.read(@path)[BLOCK]

      # @return [String]
      def block = [BEGINNING, "```mermaid", "flowchart TD", *gems, *arrows, "```", ENDING].join("\n")

      private

      # A gem with one room is a box, one with more a frame around them.
      def gems
        @blueprint.files.values.group_by(&:gem).sort.flat_map do |gem, files|
          rooms = files.map(&:room).uniq.sort
          ["  subgraph #{gem}", *rooms.map { |room| "    #{node(gem, room)}[#{room}]" }, *folders_of(gem), "  end"]
        end
      end

      # The C of a gem, a folder an engine with its bindings.
      def folders_of(gem)
        @engines.folders.filter_map do |path|
          "    #{folder(path)}([C: #{File.basename(path)}])" if path.start_with?("#{gem}/")
        end
      end

      def folder(path) = "c_#{path[%r{/ext/(.*)}, 1]}".tr("/-", "__")

      # Inside a gem between its rooms; between gems one arrow for all.
      def arrows
        pairs = @blueprint.files.values.flat_map { |file| file.files.filter_map { |other| arrow(file, @blueprint.files[other]) } }
        pairs += @engines.arrows.map { |pair| pair.map { |path| folder(path) } }
        pairs.uniq.sort.map { |from, to| "  #{from} --> #{to}" }
      end

      def arrow(file, other)
        return if other.nil? || (file.gem == other.gem && file.room == other.room)

        file.gem == other.gem ? [node(file.gem, file.room), node(other.gem, other.room)] : [file.gem, other.gem]
      end

      def node(gem, room) = "#{gem}_#{room}".tr("-", "_")
    end
  end
end

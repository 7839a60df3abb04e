# frozen_string_literal: true

require_relative "blueprint"

module Support
  module House
    # The rooms and who requires whom, as a drawing (Mermaid) between two marks in guides/internals.md.
    class Map
      FILE = "guides/internals.md"
      BEGINNING = "<!-- map: drawn from the code by `rake map` -->"
      ENDING = "<!-- end of map -->"
      TITLES = { "face" => "lib/plait.rb", "version" => "lib/plait/version.rb", "native" => "lib/plait/native.rb",
                 "atomic_file" => "lib/plait/atomic_file.rb",
                 "exe" => "exe/plait", "ext" => "ext/plait/" }.freeze
      BLOCK = /^#{Regexp.escape(BEGINNING)}\n.*^#{Regexp.escape(ENDING)}$/m

      class Unmarked < StandardError; end

      # @param root [String] the folder of the project
      def initialize(root, blueprint = Blueprint.read(root))
        @path = File.join(root, FILE)
        @blueprint = blueprint
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
      def block = [BEGINNING, "```mermaid", "flowchart TD", *rooms, *arrows, "```", ENDING].join("\n")

      private

      def rooms
        names = @blueprint.files.values.map(&:room) | @blueprint.arrows.flatten
        names.sort.map { |room| %(  #{room}["#{TITLES.fetch(room) { "lib/plait/#{room}/" }}"]) }
      end

      def arrows = @blueprint.arrows.map { |from, to| "  #{from} --> #{to}" }
    end
  end
end

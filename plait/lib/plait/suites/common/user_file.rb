# frozen_string_literal: true

require_relative "../../lab"
require_relative "user_file/script"

module Plait
  module Suites
    # A user's own work, described in a Ruby file:
    #
    #   title "thumbnails"                      # optional; by default the file's name
    #   unit "pictures"                         # optional
    #   setup { require "zlib" }                # optional: once, before the items are asked for
    #   items { Dir["pictures/*"] }             # what the body is given, one after another
    #   body { |picture| shrink(picture) }      # the work on one item
    #   digest { |results| results.sum.to_s }   # optional: what must be equal under all mechanisms
    #   on :threads, %i[processes threads]      # optional; by default every mechanism
    #   limit 1, 8, 64                          # optional; by default the same under each mechanism
    #   teardown { … }                          # optional: once, when all is over
    #
    #   def shrink(picture) = …                 # methods and constants of the file stay in the file
    class UserFile
      MECHANISMS = %i[sequence threads fibers hybrid processes ractors].freeze

      # @param on [Array<Symbol, Array<Symbol>>, nil] instead of the file's own
      # @param limits [Array<Integer>, nil] instead of the file's own
      # @return [Lab::Workload]
      # @raise [UsageError] names the file, the line where there is one, and what is expected
      def self.load(path, on: nil, limits: nil) = new(path).workload(on, limits)

      def initialize(path)
        @path = path
        @script = Script.load(path)
      end

      def workload(on, limits)
        run_block(:setup)
        work = { items: items, body: @script.blocks.fetch(:body), digest: @script.blocks[:digest] }
        cells = Lab::Cell.each_of(on || @script.mechanisms || MECHANISMS, limits || @script.limits, **work)
        Lab::Workload.new(name: File.basename(@path, ".rb"), title: @script.heading || File.basename(@path),
                          unit: @script.unit_name || "items", cells: cells, around: method(:around).to_proc)
      end

      private

      # Ended by the process that began it, once: the trials are forks that never come back here.
      def around
        yield
      ensure
        run_block(:teardown)
      end

      def items
        items = run_block(:items)
        array = Script.guard(@path) { items.to_a } if items.respond_to?(:to_a) && !endless?(items)
        return array unless array.nil? || array.empty?

        raise UsageError, "#{@path}: items gave #{items.inspect[0, 80]}; give an Array with at least one item, " \
                          "e.g. #{Script::EXAMPLES[:items]}"
      end

      def endless?(items) = items.respond_to?(:size) && items.size == Float::INFINITY

      def run_block(name) = Script.guard(@path) { @script.blocks[name]&.call }
    end
  end
end

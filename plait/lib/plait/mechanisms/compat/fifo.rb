# frozen_string_literal: true

require "io/nonblock"
require_relative "opening"

module Plait
  module Mechanisms
    module Compat
      # open(2) of a FIFO waits for the other end, which no hook sees; after it, the descriptor must not block.
      module Fifo
        def self.install = File.prepend(self)

        # @param modes [Array<Object>] as given to open: flags, a String or nothing
        def self.waits?(path, *modes)
          return false unless path.is_a?(String) || path.respond_to?(:to_path)

          File.pipe?(path) && modes.none? { |mode| mode.is_a?(Integer) && mode.anybits?(File::NONBLOCK) }
        end

        def initialize(*arguments, **options)
          path, mode, = arguments
          mode ||= options[:mode]
          return super unless Compat.scheduler && Fifo.waits?(path, mode, options[:flags])

          # Ruby 3.1 knows a descriptor by there being two arguments at most, options included.
          Opening.aside(*arguments, **options) { |fd| super(fd, mode: mode || "r", **options.except(:mode, :perm)) }
          self.nonblock = true
        end
      end
    end
  end
end

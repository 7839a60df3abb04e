# frozen_string_literal: true

require "io/wait"
require "plait/cli/command"

module Plait
  module CLI
    class Shard < Command
      # Tells of signals in their turn: SIGHUP, SIGTERM and SIGUSR2, as supervisors send them.
      class Bell
        NAMES = { "H" => :HUP, "T" => :TERM, "2" => :USR2 }.freeze

        # @yieldparam bell [Bell] while the block runs, these signals are its
        def self.open
          bell = new
          yield bell
        ensure
          bell&.close
        end

        def initialize
          @reader, @writer = IO.pipe
          @before = NAMES.to_h { |letter, name| [name, trap(name) { @writer.write_nonblock(letter, exception: false) }] }
        end

        # @param seconds [Numeric]
        # @return [Symbol, nil] nil: none has come
        def wait(seconds)
          NAMES[@reader.read_nonblock(1)] if @reader.wait_readable(seconds)
        end

        # @return [void]
        def close
          @before.each { |name, handler| trap(name, handler) }
          [@reader, @writer].each(&:close)
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../mechanism"
require_relative "readiness"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # What is still to be written to a pipe, without ever waiting for its reader: a worker that is itself waiting for
      # us to read its answers does not read.
      class Outbox
        JOIN = 65_536

        def initialize(io)
          @io = io
          @parts = []
        end

        def empty? = @parts.empty?

        # @param part [String] the box's own from now on. Small ones are joined: a write costs more than a copy.
        def <<(part)
          last = @parts.last
          if last && last.bytesize + part.bytesize <= JOIN
            last << part
          else
            @parts << part
          end
          self
        end

        # Writes what the pipe takes.
        def flush
          until @parts.empty?
            part = @parts.first
            written = Readiness.at_once { @io.write_nonblock(part, exception: false) }
            return if written == :wait_writable

            @parts.shift
            @parts.unshift(part.byteslice(written, part.bytesize - written)) if written < part.bytesize
          end
        rescue Errno::EPIPE
          @parts.clear # nobody reads any more; the end of the worker's own pipes tells the rest
        end
      end
    end
  end
end

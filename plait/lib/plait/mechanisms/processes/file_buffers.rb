# frozen_string_literal: true

require "fcntl"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The bytes that Ruby holds back of what was written to a File. Fork copies them, and `exit!` drops them.
      module FileBuffers
        # Ruby's own, also of an IO whose class has others.
        CLOSE = IO.instance_method(:close)
        FLUSH = IO.instance_method(:flush)
        WRITE_OUT = (IO.instance_method(:fdatasync) if IO.method_defined?(:fdatasync)) # JRuby has neither this nor fork
        # How often it looks whether other threads rest, and seconds between two looks: most are about to.
        LOOKS = 3
        PAUSE = 0.002
        private_constant :CLOSE, :FLUSH, :WRITE_OUT, :LOOKS, :PAUSE

        class << self
          # In the parent, before a fork: its bytes come before those of the child. Regular files only: a FIFO may block. Not
          # beside a thread that runs: where it appends again and again while this one writes out, Ruby 3.1 moves the bytes under
          # the write, and some are written twice and others lost.
          # @return [Array<IO>] of which the child may get a copy of bytes
          def flush
            quiet = LOOKS.times.any? { quiet? || !sleep(PAUSE) }
            buffered.each { |io| attempt { FLUSH.bind_call(io) if quiet && io.stat.file? } }
          end

          # In the child, first of all: what the parent still holds back is the parent's to write. Of all methods that write
          # out, fdatasync alone keeps what was read ahead.
          # @param ios [Array<IO>] what {.flush} has returned
          def drop(ios) = ios.each { |io| attempt { redirect(io) { WRITE_OUT.bind_call(io) } } }

          # In the child, before `exit!`. A flush of what can be read, too, moves the offset that the parent shares; a close
          # does not.
          def write_out
            buffered.each do |io|
              access(io) == Fcntl::O_RDWR ? CLOSE.bind_call(io) : FLUSH.bind_call(io)
            rescue IOError
              nil # closed meanwhile
            rescue SystemCallError => e
              warn "plait: a worker process lost the end of what it wrote to #{io.inspect}: #{e.message}"
            end
          end

          private

          def quiet? = (Thread.list - [Thread.current]).all?(&:stop?)

          # A terminal is open for writing as standard input, too; Ruby 3.1 crashes when that is redirected.
          # @return [Array<IO>] open for writing, and not in sync mode
          def buffered
            ObjectSpace.each_object(IO).select do |io|
              !io.closed? && !io.sync && access(io) != Fcntl::O_RDONLY && io.fileno != STDIN.fileno
            rescue IOError, SystemCallError
              false # not opened yet
            end
          end

          def access(io) = io.fcntl(Fcntl::F_GETFL) & Fcntl::O_ACCMODE

          # Where it fails, the parent meets the same error itself.
          def attempt
            yield
          rescue IOError, SystemCallError
            nil
          end

          # What the descriptor refers to changes, and Ruby does not notice: its own `reopen` would write out first.
          def redirect(io)
            descriptor = IO.for_fd(io.fileno, "w", autoclose: false)
            close_on_exec = descriptor.close_on_exec?
            file = descriptor.dup
            File.open(File::NULL, "w") { |null| descriptor.reopen(null) }
            yield
          ensure
            if file
              descriptor.reopen(file)
              descriptor.close_on_exec = close_on_exec
              file.close
            end
            descriptor&.close # the number stays open
          end
        end
      end
    end
  end
end

# frozen_string_literal: true

require "json"

module Plait
  class Server
    # Whether processes run. Their numbers come again: since when one runs tells it from a later one with the same number.
    module Running
      # Fields of proc(5) behind the name of a process: its state, and when it started.
      STATE = 0
      BEGAN = 19
      # States of processes that have ended, and wait for their parents.
      ENDED = %w[Z X].freeze

      # @param folder [String] of proc(5)
      # @return [Integer, nil] when it started, in ticks of the machine's clock; nil when it does not run. A system without
      #   proc(5) tells only that a process runs: it began at 0
      def self.since(pid, folder = "/proc")
        return at_all(pid) unless File.exist?("#{folder}/self/stat")

        figures = File.read("#{folder}/#{pid}/stat")[/.*\) (.*)/m, 1].split
        Integer(figures[BEGAN]) unless ENDED.include?(figures[STATE])
      rescue SystemCallError
        nil
      end

      def self.at_all(pid)
        Process.kill(0, pid)
        0
      rescue Errno::EPERM
        0 # another user's
      end
      private_class_method :at_all
    end

    # A file in which a server tells how it is, for `plait serve status` and other readers. Whole at any time.
    class StateFile
      # Seconds between two writes.
      PAUSE = 1
      # What is in each of them.
      NAMES = %w[pid began version phase since on endpoints].freeze

      # @return [Hash{String => Object}, nil] what the server says that writes there; nil when none does: what it has left
      #   behind is nothing any more
      # @raise [UsageError] when it can't be read
      def self.read(path)
        state = JSON.parse(File.read(path))
        state if state.is_a?(Hash) && NAMES.all? { |name| state[name] } && Running.since(state["pid"]) == state["began"]
      rescue Errno::ENOENT, JSON::ParserError
        nil
      rescue SystemCallError => e
        raise UsageError, "the status file #{path} can't be read: #{SystemReason.of(e)}"
      end

      # @raise [UsageError] when another server writes there
      def initialize(path)
        @path = File.expand_path(path) # an app may go elsewhere
        other = StateFile.read(path) or return
        raise UsageError, "a server writes its status there already, as process #{other["pid"]}: #{path}"
      end

      # @param state [Hash]
      # @raise [SystemCallError]
      def write(state)
        File.write(part, "#{JSON.generate(readable({ pid: Process.pid, began: began, **state }))}\n")
        File.rename(part, @path)
      ensure
        File.unlink(part) if File.file?(part) # a full disk, or the end of the thread, leaves it
      end

      # Writes from now on again and again, in a thread of its own. No error is a reason to stop: a full disk may be over soon.
      # @yieldreturn [Hash] how the server is
      def follow(&state)
        @thread = Thread.new do
          loop do
            write_if_possible(&state)
            sleep(PAUSE)
          end
        end
        @thread.name = "plait status"
      end

      def remove
        @thread&.kill&.join
        File.unlink(@path)
      rescue SystemCallError
        nil # it is gone
      end

      private

      def part = "#{@path}.#{Process.pid}.part"

      def write_if_possible
        write(yield)
      rescue StandardError
        nil
      end

      # Texts may come from clients, or from errors of the app, in any bytes; JSON takes UTF-8 alone.
      def readable(value)
        case value
        when Hash then value.to_h { |key, each| [readable(key), readable(each)] }
        when Array then value.map { |each| readable(each) }
        when String then value.dup.force_encoding(Encoding::UTF_8).scrub("?")
        else value
        end
      end

      def began = @began ||= Running.since(Process.pid)
    end
  end
end

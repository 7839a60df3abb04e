# frozen_string_literal: true

require "json"
require_relative "running"
require "plait/values/errors"
require "plait/values/system_reason"

module Plait
  class Server
    # A file in which a server tells how it is, for `plait serve status` and for whoever wants to look. Whole at any time.
    class StateFile
      # What is in each of them.
      NAMES = %w[pid began version phase since on endpoints].freeze

      # @param path [String]
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

      # @param path [String]
      # @raise [UsageError] when another server writes there
      def initialize(path)
        @path = File.expand_path(path) # an app may go elsewhere
        other = StateFile.read(path) or return
        raise UsageError, "a server writes its status there already, as process #{other["pid"]}: #{path}"
      end

      # @param state [Hash]
      # @return [void]
      # @raise [SystemCallError]
      def write(state)
        beside = "#{@path}.#{Process.pid}.part"
        File.write(beside, "#{JSON.generate({ pid: Process.pid, began: began, **state })}\n")
        File.rename(beside, @path)
      rescue SystemCallError
        File.unlink(beside) if File.file?(beside) # a part of it, on a full disk
        raise
      end

      # @return [void]
      def remove
        File.unlink(@path)
      rescue SystemCallError
        nil # it is gone
      end

      private

      def began = @began ||= Running.since(Process.pid)
    end
  end
end

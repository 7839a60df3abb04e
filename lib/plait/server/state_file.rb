# frozen_string_literal: true

require "json"

module Plait
  class Server
    # A file in which a server tells how it is, for `plait serve status` and for whoever wants to look. Whole at any time.
    class StateFile
      # @param path [String]
      # @return [Hash{String => Object}, nil] what it says; nil when it is not there, or not such a file
      def self.read(path)
        state = JSON.parse(File.read(path))
        state if state.is_a?(Hash)
      rescue Errno::ENOENT, JSON::ParserError
        nil
      end

      # @param path [String]
      def initialize(path)
        @path = path
      end

      # @param state [Hash]
      # @return [void]
      # @raise [SystemCallError]
      def write(state)
        beside = "#{@path}.#{Process.pid}.part"
        File.write(beside, "#{JSON.generate(state)}\n")
        File.rename(beside, @path)
      end

      # @return [void]
      def remove
        File.unlink(@path)
      rescue SystemCallError
        nil # it is gone
      end
    end
  end
end

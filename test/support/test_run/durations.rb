# frozen_string_literal: true

require "fileutils"
require "json"

module Support
  class TestRun
    # How long each test file took when it was run last, in a file that is no part of the project.
    class Durations
      # About as much of a file as is run in a second.
      BYTES = 1_000.0

      # @param root [String] the folder of the project
      def initialize(root)
        @root = root
        @path = File.join(root, "tmp/test-seconds.json")
        @seconds = File.exist?(@path) ? JSON.parse(File.read(@path)) : {}
      end

      # @param files [Array<String>] absolute paths
      # @return [Array<String>]
      def longest_first(files)
        files.sort_by { |file| -@seconds.fetch(file.delete_prefix("#{@root}/")) { File.size(file) / BYTES } }
      end

      # @param result [Result]
      def add(result) = @seconds[result.name] = result.seconds.round(1)

      # By a rename: two runs may end at once.
      def save
        FileUtils.mkdir_p(File.dirname(@path))
        File.write("#{@path}.#{Process.pid}", JSON.pretty_generate(@seconds))
        File.rename("#{@path}.#{Process.pid}", @path)
      end
    end
  end
end

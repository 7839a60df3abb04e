# frozen_string_literal: true

require "fileutils"
require "plait/cli/command"
require_relative "file_name"
require_relative "json_lines"
require_relative "record"
require_relative "writing"

module Plait
  module CLI
    class Fetch < Command
      # A folder with a file for each body, and their records in one file, without the bodies.
      class Folder
        INDEX = "index.jsonl"
        # Bodies that are not complete.
        PARTS = ".parts"

        # @param path [String]
        # @raise [UsageError, Terminal::Unwritable]
        def initialize(path)
          @path = path
          Writing.to(path) { FileUtils.mkdir_p(path) }
          @index = JsonLines.new(File.join(path, INDEX))
          clear
          Writing.to(path) { FileUtils.mkdir_p(parts) }
        end

        # @see JsonLines
        def anchor = @index.path

        def offset = @index.offset

        def recover(...) = @index.recover(...)

        def flush = @index.flush

        # The file gets its name before its record is written: what is in the index is there.
        # @see JsonLines#write
        def write(job, result)
          @index.append(Record.build(job, result, file: keep(job, result)))
        end

        # @return [void]
        def close
          clear
          @index.close
        end

        # @return [String] the folder for bodies that are not complete, on the same disk
        def parts = File.join(@path, PARTS)

        private

        def keep(job, result)
          return unless result.part

          name = FileName.of(job, result)
          path = File.join(@path, name)
          Writing.to(path) { name_it(result.part, path) }
          name
        end

        # The folder of the host is nearly always there.
        def name_it(part, path)
          File.rename(part, path)
        rescue Errno::ENOENT
          FileUtils.mkdir_p(File.dirname(path))
          File.rename(part, path)
        end

        def clear = FileUtils.rm_rf(parts)
      end
    end
  end
end

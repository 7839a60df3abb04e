# frozen_string_literal: true

require "plait/cli/command"
require_relative "folder"
require_relative "json_lines"
require_relative "standard_output"

module Plait
  module CLI
    class Fetch < Command
      # What `--out` means.
      module Output
        STANDARD = "-"
        RECORDS = /\.(jsonl|ndjson)\z/i

        # @param word [String] "-", a file of records by its ending, else a folder
        # @param terminal [Terminal]
        # @return [StandardOutput, JsonLines, Folder]
        # @raise [UsageError, Terminal::Unwritable]
        def self.open(word, terminal)
          return StandardOutput.new(terminal) if word == STANDARD

          RECORDS.match?(word) ? JsonLines.new(word) : Folder.new(word)
        end
      end
    end
  end
end

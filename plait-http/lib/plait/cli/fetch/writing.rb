# frozen_string_literal: true

require "plait/atomic_file"
require "plait/cli/command"
require "plait/cli/terminal"

module Plait
  module CLI
    class Fetch < Command
      # Writes files, and says in a person's words what hinders it.
      module Writing
        HINTS = {
          **AtomicFile::HINTS,
          Errno::EEXIST => "a file is in its way; name another folder, or a file that ends in .jsonl"
        }.freeze

        class << self
          # @param path [String] for the message
          def to(path)
            yield
          rescue SystemCallError => e
            raise Terminal::Unwritable, "can't write to #{path}: #{HINTS.fetch(e.class) { e.message }}"
          end

          # Writes a file whole or not at all: under another name first.
          def replace(path, content)
            to(path) do
              File.open("#{path}.part", "wb") do |file|
                file.write(content)
                file.fsync # else a failure of the power may leave the name without the content
              end
              File.rename("#{path}.part", path)
            end
          end
        end
      end
    end
  end
end

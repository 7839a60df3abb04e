# frozen_string_literal: true

require "digest"
require "fileutils"
require "plait/atomic_file"
require "plait/cli/terminal"
require_relative "record"

module Plait
  module CLI
    class Fetch < Command
      # Writes files, and names the cause of a failure.
      module Writing
        HINTS = {
          **AtomicFile::HINTS,
          Errno::EEXIST => "a file is in its way; name another folder, or a file that ends in .jsonl"
        }.freeze

        # @param path [String] for the message
        def self.to(path)
          yield
        rescue SystemCallError => e
          raise Terminal::Unwritable, "can't write to #{path}: #{HINTS.fetch(e.class) { e.message }}"
        end

        # Writes a file whole or not at all: under another name first.
        def self.replace(path, content)
          to(path) do
            File.open("#{path}.part", "wb") do |file|
              file.write(content)
              file.fsync # else a failure of the power may leave the name without the content
            end
            File.rename("#{path}.part", path)
          end
        end
      end

      # A file of records, one a line, that only grows.
      class JsonLines
        # Seconds that the workers of a killed run have to close the file: more of them wait longer for a live run.
        PATIENCE = 5.0
        PAUSE = 0.05

        attr_reader :path, :offset

        def initialize(path)
          @path = path
          @file = Writing.to(path) { File.open(path, File::RDWR | File::CREAT | File::BINARY) }
          lock
          @file.sync = true
          @offset = @file.size
        end

        # @return [String] beside which the journal lies
        def anchor = path

        # @return [nil] bodies are part of the records
        def parts = nil

        def write(job, result) = append(Record.build(job, result))

        def append(text)
          Writing.to(path) { @file.write(text) }
          @offset += text.bytesize
        end

        # All records survive a failure of the power from now on.
        def flush = Writing.to(path) { @file.fsync }

        # Reads the records after a point, and cuts off a last line that is torn.
        # @yieldparam number [Integer] of a line that is finished
        def recover(offset)
          raise UsageError, changed("it is shorter than it was") if @file.size < offset

          @file.seek(@offset = offset)
          @file.each_line do |line|
            break unless line.end_with?("\n")

            yield(*(Record.read(line) || raise(UsageError, changed("there is something else in it"))))
            @offset += line.bytesize
          end
          Writing.to(path) { @file.truncate(@offset) }
          @file.seek(@offset)
        end

        def close = @file.close

        private

        def changed(how)
          "#{path} was changed after it was written: #{how}, so that the lines that are fetched are unknown; name " \
            "another file, or remove it to start again"
        end

        def lock
          give_up = Deadline.after(PATIENCE)
          until @file.flock(File::LOCK_EX | File::LOCK_NB)
            raise UsageError, "another plait fetch is writing to #{path}; wait for it, or name another" if give_up.expired?

            sleep(PAUSE)
          end
        end
      end

      # The file for a body: a folder for the host, the path in readable letters, and a digest that makes each name unique.
      # Only letters, digits, "-", "_" and "." reach the disk, and a name begins with a letter or a digit.
      module FileName
        # Characters of a path: more of them may exceed the 255 bytes that most disks allow.
        LONGEST = 100
        # Hexadecimal digits: 64 bits.
        DIGEST = 16
        EXTENSIONS = {
          "text/html" => ".html", "application/xhtml+xml" => ".html", "text/plain" => ".txt", "text/css" => ".css",
          "text/csv" => ".csv", "text/xml" => ".xml", "application/xml" => ".xml", "application/json" => ".json",
          "text/javascript" => ".js", "application/javascript" => ".js", "application/pdf" => ".pdf",
          "image/png" => ".png", "image/jpeg" => ".jpg", "image/gif" => ".gif", "image/svg+xml" => ".svg",
          "image/webp" => ".webp"
        }.freeze
        RESERVED = /\.(jsonl|journal|frontier|part)\z/
        EXTENSION = /\.[a-z0-9]{1,8}\z/i

        class << self
          # @return [String] "example.org/docs_start-3f9a0c12b7d41e66.html"
          def of(job, result)
            host, path = job.shown.match(%r{\A\w+://([^/?#]*)([^?#]*)}).captures
            stem = path.sub(EXTENSION, "")
            digest = Digest::SHA256.hexdigest("#{job.line} #{job.url}")[0, DIGEST] # the same URL may be there twice
            "#{folder(host)}/#{readable(stem)}-#{digest}#{extension(path, result)}"
          end

          private

          # A host is not named as a file beside its folder: no other name ends in "_".
          def folder(host) = readable(host.downcase, "host").sub(RESERVED) { |ending| "#{ending}_" }

          def readable(text, empty = "index")
            clean = text.gsub(/[^\w.-]+/, "_").sub(/\A[^a-zA-Z0-9]+/, "")[0, LONGEST].sub(/[^a-zA-Z0-9]+\z/, "")
            clean.empty? ? empty : clean
          end

          def extension(path, result)
            path[EXTENSION]&.downcase || EXTENSIONS.fetch(result.header("content-type").to_s[/\A[^;\s]+/].to_s.downcase, "")
          end
        end
      end

      # A folder with a file for each body, and their records in one file, without the bodies.
      class Folder < JsonLines
        INDEX = "index.jsonl"
        # Bodies that are not complete.
        PARTS = ".parts"

        def initialize(folder)
          @folder = folder
          Writing.to(folder) { FileUtils.mkdir_p(folder) }
          super(File.join(folder, INDEX))
          clear
          Writing.to(folder) { FileUtils.mkdir_p(parts) }
        end

        # The file gets its name before its record is written: each file in the index exists.
        def write(job, result) = append(Record.build(job, result, file: keep(job, result)))

        def close
          clear
          super
        end

        # @return [String] the folder for bodies that are not complete, on the same disk
        def parts = File.join(@folder, PARTS)

        private

        def keep(job, result)
          return unless result.part

          name = FileName.of(job, result)
          path = File.join(@folder, name)
          Writing.to(path) { move(result.part, path) }
          name
        end

        # The folder of the host is nearly always there.
        def move(part, path)
          File.rename(part, path)
        rescue Errno::ENOENT
          FileUtils.mkdir_p(File.dirname(path))
          File.rename(part, path)
        end

        def clear = FileUtils.rm_rf(parts)
      end

      # Records to standard output, for a program behind a pipe. Nothing is kept, so nothing can be resumed.
      class StandardOutput
        def initialize(terminal)
          @terminal = terminal
          terminal.reserve_output
        end

        # @return [nil] there is nothing beside which a journal could lie
        def anchor = nil

        # @return [nil] bodies are part of the records
        def parts = nil

        def write(job, result) = @terminal.data(Record.build(job, result))

        def close; end
      end

      # The meaning of `--out`.
      module Output
        STANDARD = "-"
        RECORDS = /\.(jsonl|ndjson)\z/i

        # @param word [String] "-", a file of records by its ending, or a folder
        def self.open(word, terminal)
          return StandardOutput.new(terminal) if word == STANDARD

          RECORDS.match?(word) ? JsonLines.new(word) : Folder.new(word)
        end
      end
    end
  end
end

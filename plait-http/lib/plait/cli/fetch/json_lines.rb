# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require "plait/cli/command"
require_relative "record"
require_relative "writing"

module Plait
  module CLI
    class Fetch < Command
      # A file of records, one a line, that only grows.
      class JsonLines
        # Seconds that the workers of a run that was killed have to let go of the file.
        PATIENCE = 5.0
        PAUSE = 0.05

        # @return [String]
        attr_reader :path
        # @return [Integer] bytes written, what was there before included
        attr_reader :offset

        # @param path [String]
        # @raise [UsageError] when another process writes to it
        # @raise [Terminal::Unwritable]
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

        # @param job [Job]
        # @param result [Result]
        # @return [void]
        # @raise [Terminal::Unwritable] on a full disk; what was written of the line is cut off by {#recover}
        def write(job, result) = append(Record.build(job, result))

        # @param text [String] one line
        # @return [void]
        # @raise [Terminal::Unwritable]
        def append(text)
          Writing.to(path) { @file.write(text) }
          @offset += text.bytesize
        end

        # What is written survives a failure of the power from now on.
        # @return [void]
        # @raise [Terminal::Unwritable]
        def flush = Writing.to(path) { @file.fsync }

        # Reads what was written after a point, and cuts off a last line that is torn.
        # @param offset [Integer] bytes
        # @yieldparam number [Integer] of a line that is finished
        # @yieldparam ok [Boolean]
        # @return [void]
        # @raise [UsageError] when it is not what this command has written
        def recover(offset)
          raise UsageError, changed("it is shorter than it was") if @file.size < offset

          @file.seek(@offset = offset)
          @file.each_line do |line|
            break unless line.end_with?("\n")

            yield(*(Record.read(line) || raise(UsageError, changed("there is something else in it"))))
            @offset += line.bytesize
          end
          trim
        end

        # @return [void]
        def close = @file.close

        private

        def trim
          Writing.to(path) { @file.truncate(@offset) }
          @file.seek(@offset)
        end

        def changed(how)
          "#{path} was changed after it was written: #{how}, so that it is not known what is fetched already; name " \
            "another file, or remove it to begin anew"
        end

        def lock
          give_up = Deadline.after(PATIENCE)
          until @file.flock(File::LOCK_EX | File::LOCK_NB)
            raise UsageError, "another plait fetch is writing to #{path}; wait for it, or name another" if give_up.expired?

            sleep(PAUSE)
          end
        end
      end
    end
  end
end

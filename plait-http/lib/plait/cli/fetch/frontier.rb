# frozen_string_literal: true

require "tempfile"
require "plait/cli/command"
require_relative "job"
require_relative "line"
require_relative "lines"
require_relative "writing"

module Plait
  module CLI
    class Fetch < Command
      # What a crawl has found, each URL once, in a file that grows while it is read: "depth url", one a line. A crawl that
      # was ended finds it again. Memory holds a number for each URL and none of the URLs but those that have a user and a
      # password: these stay out of the file, and come again with the input.
      class Frontier
        # @param output [String, nil] the file beside which it lies; nil for one that is gone afterwards
        # @param fresh [Boolean] what lies there is of no use
        # @param most [Integer] URLs
        # @raise [Terminal::Unwritable]
        def initialize(output, fresh:, most:)
          @most = most
          @path = output ? "#{output}.frontier" : Tempfile.create("plait-frontier").tap(&:close).path
          @passing = output.nil?
          @known = {}
          @private = {}
          @file = Writing.to(@path) { File.open(@path, File::RDWR | File::CREAT | File::APPEND | File::BINARY) }
          @file.sync = true
          @file.truncate(0) if fresh
          learn
          @lines = Lines.new(File.open(@path, "rb"))
        end

        # @param url [String]
        # @param depth [Integer] links that lead to it
        # @return [Boolean] whether it is new, and there was room for it
        # @raise [Terminal::Unwritable]
        def add(url, depth)
          shown = Job.shown(url)
          @private[shown] = url if shown != url
          return false if @known.size >= @most || @known.key?(shown.hash)

          @known[shown.hash] = true
          Writing.to(@path) { @file.write("#{depth} #{shown}\n") }
          true
        end

        # @return [Boolean] whether nothing more is taken in
        def full? = @known.size >= @most

        # @return [Line, nil] nil when there is none at the moment
        def take
          line = @lines.take or return
          depth, shown = line.text.split(" ", 2)
          line.text = @private.fetch(shown, shown)
          line.depth = depth.to_i
          line
        end

        # @return [Integer] URLs known
        def total = @known.size

        # @return [Integer]
        def taken = @lines.taken

        # @see Lines#mark
        def mark = @lines.mark

        # @see Lines#same?
        def same?(mark) = @lines.same?(mark)

        # @return [void]
        def close
          @lines.close
          @file.close
          File.unlink(@path) if @passing
        end

        private

        # A last line that is torn is cut off: the page it was found on is not finished.
        def learn
          size = 0
          @file.each_line do |line|
            break unless line.end_with?("\n")

            size += line.bytesize
            @known[line.chomp.split(" ", 2).last.force_encoding(Encoding::UTF_8).hash] = true
          end
          Writing.to(@path) { @file.truncate(size) }
        end
      end
    end
  end
end

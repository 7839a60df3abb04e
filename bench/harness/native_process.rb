# frozen_string_literal: true

require "io/wait"
require "json"
require_relative "native"

module Bench
  module Harness
    # A C program beside the contestant, spoken to line by line. It ends with the contestant.
    class NativeProcess
      # @param source [String] path of the C file
      # @param arguments [Array<#to_s>]
      # @param place [Array<String>] words in front of the command, see {Processors.for_origin}
      def initialize(source, *arguments, place: [])
        @io = IO.popen([*place, Native.build(source), *arguments.map(&:to_s)], "r+")
        @io.sync = true
      end

      # @return [String] the next line
      def line = @io.gets&.chomp || raise("the C program ended early")

      # @param seconds [Numeric, nil] after which it is too late; nil: any time
      # @return [Hash{String => Numeric}] the next line, as JSON
      def figures(seconds = nil)
        raise "the C program did not answer in time" unless @io.wait_readable(seconds)

        JSON.parse(line)
      end

      # Gives the program the line it waits for.
      def go(word = "go") = @io.write(word, "\n")

      def kill
        Process.kill(:KILL, @io.pid)
        @io.close
      end
    end
  end
end

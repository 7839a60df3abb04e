# frozen_string_literal: true

require "json"
require_relative "../../harness/native"

module Bench
  module Core
    # A C program beside the contestant, spoken to line by line.
    class NativeProcess
      # @param name [String] of the C file in this bench, without its ending
      # @param arguments [Array<#to_s>]
      def initialize(name, *arguments)
        program = Harness::Native.build(File.expand_path("../#{name}.c", __dir__))
        @io = IO.popen([program, *arguments.map(&:to_s)], "r+")
        @io.sync = true
      end

      # @return [String] the next line
      def line = @io.gets&.chomp || raise("the C program ended early")

      # @return [Hash{String => Numeric}] the next line, as JSON
      def figures = JSON.parse(line)

      # Gives the program the line it waits for.
      def go = @io.write("go\n")
    end
  end
end

# frozen_string_literal: true

require_relative "../../harness/native"

module Bench
  module Core
    # Runs a program of floor.c that measures itself.
    module Floor
      PROGRAM = Harness::Native.build(File.expand_path("../floor.c", __dir__))

      module_function

      # @param trial [Harness::Trial]
      # @param operations [Integer]
      # @param arguments [Array<#to_s>] of the program
      def report(trial, operations, *arguments)
        told = Harness::Native.measure(PROGRAM, *arguments)
        trial.report(operations: operations, wall: told["wall"], cpu: told["cpu"], result: told["result"])
      end
    end
  end
end

# frozen_string_literal: true

require "test_helper"
require "support/ractors"
require_relative "job_contract"

module Contracts
  # A job is a block with a name: every mechanism that runs blocks runs it in the same way.
  module Jobs
    class Double
      def call(number) = number * 2
    end

    class Fails
      def call(_item) = raise(ArgumentError, "no good")
    end

    class Sleeps
      def call(seconds) = sleep(seconds)
    end
  end

  Plait::Mechanisms.names.each do |name|
    const_set(:"#{name.capitalize}JobsTest", Class.new(Minitest::Test) do
      include JobContract

      define_method(:on) { name }
      define_method(:setup) { Support::Ractors.needed } if name == :ractors

      def jobs = Jobs
    end)
  end
end

# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require_relative "reactor_cases"

if Plait.const_get(:Io).const_defined?(:NativeReactor)
  class IoNativeReactorTest < Minitest::Test
    extend IoCases::ClassMethods
    include ReactorCases
    include Support::Interrupts

    def reactor_class = Plait.const_get(:Io)::NativeReactor

    everywhere("the IO that a fiber waits by does not close its descriptor", on: %i[fibers async]) do |mechanism|
      watched(1)
      made = ios_made { mechanism.beside { wait(0.05) }.call }
      assert_equal([false], made.map { |_, closes| closes })
    end

    # A kilobyte and a half for a whole idle connection is the goal of the RPC server: this is its share.
    def test_an_idle_connection_costs_forty_bytes_here
      require "objspace"
      before = ObjectSpace.memsize_of(@reactor)
      highest = watched(500).flatten.map(&:fileno).max
      assert_operator(ObjectSpace.memsize_of(@reactor) - before, :<=, (highest + 512) * 40)
    end
  end
end

# frozen_string_literal: true

require "test_helper"
require_relative "reactor_cases"

if Plait.const_get(:Io).const_defined?(:NativeReactor)
  class IoNativeReactorTest < Minitest::Test
    include ReactorCases

    def reactor_class = Plait.const_get(:Io)::NativeReactor

    # A kilobyte and a half for a whole idle connection is the goal of the RPC server: this is its share.
    def test_an_idle_connection_costs_forty_bytes_here
      require "objspace"
      before = ObjectSpace.memsize_of(@reactor)
      highest = watched(500).flatten.map(&:fileno).max
      assert_operator(ObjectSpace.memsize_of(@reactor) - before, :<=, (highest + 512) * 40)
    end
  end
end

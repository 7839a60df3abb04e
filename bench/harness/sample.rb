# frozen_string_literal: true

module Bench
  module Harness
    # What one contestant did in one round, as its process reported it.
    #
    # `wall` and `cpu` are seconds, `memory` bytes over the base (nil where it is not known), `result` is what is
    # checked for equality, `figures` holds what the contestant counted itself.
    Sample = Struct.new(:operations, :wall, :cpu, :memory, :result, :figures, keyword_init: true) do
      # @param hash [Hash{String => Object}] the parsed JSON line
      # @return [Sample]
      def self.from_h(hash)
        new(**members.to_h { |member| [member, hash[member.to_s]] }).tap { |sample| sample.figures ||= {} }
      end

      def cpu_us = each(cpu, 1e6)

      def wall_us = each(wall, 1e6)

      def memory_kb = each(memory, 1e-3)

      private

      # Of nothing that was done there is no figure.
      def each(whole, unit) = (whole * unit / operations if whole && operations.positive?)
    end

    # A round that gave no sample, and why, in one sentence; `hung`: it took all the time there was.
    Failure = Struct.new(:reason, :hung)
  end
end

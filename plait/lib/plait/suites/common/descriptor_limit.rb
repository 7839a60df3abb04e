# frozen_string_literal: true

module Plait
  module Suites
    # The number of descriptors that this process and its children may have open: a connection takes one, and many systems
    # allow 1,024 unless asked for more.
    module DescriptorLimit
      # Enough for 10,000 connections.
      WANTED = 20_000
      # The limit of macOS, although it reports none.
      MODEST = 10_240
      private_constant :WANTED, :MODEST

      module_function

      # Lifts the soft limit as far as is wanted and may be.
      def lift
        [WANTED, MODEST].find { |count| sufficient?(count) || try(count) }
      rescue NotImplementedError
        nil # no such limits here
      end

      def sufficient?(count) = Process.getrlimit(:NOFILE).first >= count

      def try(count)
        hard = Process.getrlimit(:NOFILE).last
        Process.setrlimit(:NOFILE, [count, hard].min, hard)
        true
      rescue SystemCallError
        false
      end
      private_class_method :sufficient?, :try
    end
  end
end

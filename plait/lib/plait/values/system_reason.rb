# frozen_string_literal: true

module Plait
  # Why the system has refused something, in its own words. Ruby puts behind them which of its methods was called, and the path,
  # which a sentence for people has already.
  module SystemReason
    # @return [String] "No such file or directory"
    def self.of(error) = SystemCallError.new(nil, error.errno).message
  end
  private_constant :SystemReason
end

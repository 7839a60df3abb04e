# frozen_string_literal: true

require "digest"
require_relative "../values/errors"
require_relative "text"

module Plait
  module Lab
    # Tells whether two runs of the same items gave the same results, and where they part, without keeping the results.
    class ResultDigest
      # Longer previews are cut, and items from this one on have none: they only serve to show the first difference.
      PREVIEW_CHARACTERS = 120
      PREVIEWS = 1_000
      # Bytes kept of each item's digest: by accident two of a million items agree once in 10^7 runs.
      FINGERPRINT_BYTES = 8

      # @return [String] equal when the results are
      attr_reader :digest
      # @return [Array<String>] of the first items
      attr_reader :previews

      # @param outcomes [Array<Outcome>] in input order
      # @param custom [Proc, nil] results => comparable String. Called once with all results, and once for each as an
      #   Array of one, to find the first that differs.
      def initialize(outcomes, custom = nil)
        @fingerprints = outcomes.map { |outcome| fingerprint(outcome, custom) }.join
        @previews = outcomes.first(PREVIEWS).map { |outcome| preview(outcome) }
        @digest = custom ? overall(outcomes, custom) : Digest::SHA256.hexdigest(@fingerprints)
      end

      # @return [Integer] how many results
      def size = @fingerprints.bytesize / FINGERPRINT_BYTES

      # @param other [ResultDigest]
      # @return [Integer, nil] the first item whose results differ; nil when each one agrees
      def first_difference(other)
        common = [size, other.size].min
        (0...common).find { |index| at(index) != other.at(index) } || (common unless size == other.size)
      end

      # @return [String] the fingerprint of one item
      def at(index) = @fingerprints.byteslice(index * FINGERPRINT_BYTES, FINGERPRINT_BYTES)

      private

      def overall(outcomes, custom)
        failed, succeeded = outcomes.partition(&:error)
        "#{told(custom, succeeded.map(&:value))}#{failed.map { |outcome| [outcome.index, outcome.error.class.name] }}"
      end

      def told(custom, results)
        custom.call(results)
      rescue StandardError => e
        raise UsageError, "the digest of the results raised #{Text.of_error(e)}"
      end

      def fingerprint(outcome, custom)
        bytes = outcome.error ? "error #{outcome.error.class}" : content(outcome.value, custom)
        Digest::SHA256.digest(bytes).byteslice(0, FINGERPRINT_BYTES)
      end

      def content(value, custom)
        custom ? told_of_one(custom, value) : Marshal.dump(value)
      rescue TypeError
        # A Proc, an IO, a class without a name: compared by what they print, without their addresses.
        value.inspect.gsub(/0x\h{8,}/, "0x")
      end

      # It may be made for the results as a whole; then no single item is named.
      def told_of_one(custom, value)
        custom.call([value]).to_s
      rescue StandardError
        ""
      end

      def preview(outcome)
        text = outcome.error ? Text.of_error(outcome.error) : Text.clean(shown(outcome.value))
        text.size > PREVIEW_CHARACTERS ? "#{text[0, PREVIEW_CHARACTERS]}…" : text
      end

      # A result of many megabytes is not printed whole to show its beginning.
      def shown(value)
        value.is_a?(String) ? value.byteslice(0, PREVIEW_CHARACTERS * 4).inspect : value.inspect
      end
    end
  end
end

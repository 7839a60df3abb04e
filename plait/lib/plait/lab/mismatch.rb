# frozen_string_literal: true

module Plait
  module Lab
    # Rows of one group that should have given the same results and did not.
    #
    # - `group` as the cells name it
    # - `reference` the label of the row that the others are held against, `differing` the labels of those that differ
    # - `index` of the first item that differs, nil when only the whole does
    # - `expected`, `found` the beginning of both results there
    Mismatch = Struct.new(:group, :reference, :differing, :index, :expected, :found, keyword_init: true) do
      # @return [String]
      def to_s
        "#{differing.join(", ")} gave other results than #{reference}#{place}"
      end

      private

      def place
        return "" unless index

        "; the first that differs is item #{index}: #{expected} there, #{found} in #{differing.first}"
      end
    end
  end
end

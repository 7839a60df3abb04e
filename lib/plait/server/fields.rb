# frozen_string_literal: true

module Plait
  class Server
    # The headers of an app as lines: several values are an Array, or, before Rack 3, lines of one String.
    module Fields
      module_function

      # @param headers [#each] names and values; what begins with "rack." is no header
      # @return [Array<Array(String, String)>]
      def of(headers)
        headers.to_enum(:each).flat_map do |name, value|
          next [] if name.start_with?("rack.") || value.nil?

          Array(value).flat_map { |one| lines(one.to_s).map { |line| [name.downcase, line] } }
        end
      end

      # @api private
      def lines(text) = text.empty? ? [text] : text.split("\n")
    end
  end
end

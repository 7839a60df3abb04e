# frozen_string_literal: true

module Plait
  class Server
    # The headers of an app as lines: several values are an Array, or, before Rack 3, lines of one String. Names stay as they
    # are; white space around a value means nothing.
    module Fields
      module_function

      # @param headers [#each] names and values; what begins with "rack." is no header
      # @return [Array<Array(String, String)>]
      def of(headers)
        headers.to_enum(:each).flat_map do |name, value|
          next [] if name.start_with?("rack.") || value.nil?

          Array(value).flat_map { |one| lines(one.to_s.b).map { |line| [name, line] } }
        end
      end

      # @api private
      def lines(text)
        lines = text.split("\n").reject(&:empty?)
        lines << text if text.empty?
        lines.map { |line| line.gsub(/\A[ \t]+|[ \t]+\z/, "") }
      end
    end
  end
end

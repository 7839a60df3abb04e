# frozen_string_literal: true

module Plait
  module Io
    # Puts small Strings together, so that a head and its body leave by one system call and in one segment. Large ones go
    # by themselves: a copy costs more than a call.
    module Gather
      # Bytes from which on a part goes by itself.
      LARGE = 16 * 1024

      module_function

      # @return [Array<String>] in the same order, none empty
      def each(parts)
        return parts.first.empty? ? [] : parts if parts.size == 1

        runs = parts.reject(&:empty?).chunk_while { |before, after| before.bytesize < LARGE && after.bytesize < LARGE }
        runs.map { |run| run.size == 1 ? run.first : join(run) }
      end

      # Parts in several encodings can't be joined, and bytes have none.
      def join(parts)
        whole = String.new(capacity: parts.sum(&:bytesize), encoding: Encoding::BINARY)
        parts.each { |part| whole << (part.encoding == Encoding::BINARY || part.ascii_only? ? part : part.b) }
        whole
      end
    end
  end
end

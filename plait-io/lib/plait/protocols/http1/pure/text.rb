# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      module Pure
        # Bytes of a head as users get them.
        module Text
          class << self
            # @return [String] UTF-8 where it is that, else binary
            def of(bytes)
              text = bytes.dup.force_encoding(Encoding::UTF_8)
              text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
            end

            # @return [String] the same object for the same name
            def name(bytes) = -of(bytes)
          end
        end
      end
    end
  end
end

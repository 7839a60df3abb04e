# frozen_string_literal: true

require "plait/values/errors"

begin
  require "http/2"
rescue LoadError => e
  raise unless e.path == "http/2"

  raise Plait::UnsupportedError, 'HTTP/2 needs the gem http-2: add `gem "http-2", "~> 1.1"` to the Gemfile, or ask without ' \
                                 "http2: true"
end

require "plait/protocols/hpack/decompressor" # which needs it, too

module Plait
  module HTTP
    module HTTP2
      # The frames, the compression of headers and the states of streams (the gem http-2). It is asked for
      # on first use only.
      Engine = ::HTTP2

      # One that takes no head for whose numbers a peer could have it compute without an end; should a later gem keep its
      # decompressor elsewhere, it is as the gem has it.
      class Client < Engine::Client
        def initialize(...)
          super
          @decompressor = Protocols::HPACK::Decompressor.new(local_settings)
        end
      end
      private_constant :Engine, :Client
    end
  end
end

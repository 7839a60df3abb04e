# frozen_string_literal: true

require "net/http"

module Plait
  module HTTP
    module NetHTTP
      # All that makes a connection what it is: two Net::HTTP objects with equal keys may use each other's. Whatever is
      # no part of it (the timeouts) is set anew for each use.
      module Key
        TLS = Net::HTTP::SSL_IVNAMES

        module_function

        # @param http [Net::HTTP]
        # @return [Array] to be compared with eql?
        def of(http)
          place = [kind(http), http.address, http.port, *local(http), *proxy(http)]
          place.concat(tls(http)) if http.use_ssl?
          place.map! { |part| comparable(part) }.freeze
        end

        # A subclass may connect in its own way. The classes made by Net::HTTP.Proxy, one a call, do not.
        def kind(http)
          kind = http.class
          kind = kind.superclass while kind.respond_to?(:proxy_class?) && kind.proxy_class?
          kind
        end

        def local(http)
          [http.local_host, http.local_port, http.instance_variable_get(:@ipaddr), http.use_ssl?]
        end

        # The credentials too: those of a tunnel are sent once, when it is opened.
        def proxy(http)
          return [nil] unless http.proxy?

          [http.proxy_address, http.proxy_port, http.proxy_user, http.proxy_pass,
           http.instance_variable_get(:@proxy_use_ssl)]
        end

        def tls(http) = TLS.map { |name| http.instance_variable_get(name) }

        # What it says where that can be read; else the object itself, which is equal to nothing but itself.
        def comparable(part)
          case part
          when String then part.frozen? ? part : part.dup.freeze
          when Array then part.map { |one| comparable(one) }.freeze
          when nil, Symbol, Numeric, true, false, Module then part
          else comparable_secret(part)
          end
        end

        def comparable_secret(part)
          case part
          when OpenSSL::X509::Certificate then part.to_der
          when OpenSSL::PKey::PKey then part.respond_to?(:public_to_der) ? part.public_to_der : part
          when OpenSSL::X509::Store then part.instance_variable_get(:@plait_made_of)&.dup || part
          else part
          end
        end
      end
    end
  end
end

# frozen_string_literal: true

require "openssl"

module Plait
  module HTTP
    module NetHTTP
      # An OpenSSL::X509::Store can't be asked what is in it, and open-uri and others make one for each request. It
      # remembers what it was made of, so that {Key} can tell that two of them trust the same.
      module StoreHistory
        CHANGES = %i[add_cert add_crl add_file add_path set_default_paths flags= purpose= time= trust= verify_callback=].freeze

        # Of the class itself. A store that was made before has no history, and is equal to nothing but itself.
        module Beginning
          def new(*)
            super.tap { |store| store.instance_variable_set(:@plait_made_of, []) if store.instance_of?(OpenSSL::X509::Store) }
          end
        end

        CHANGES.each do |name|
          define_method(name) do |*arguments|
            @plait_made_of&.push([name, *arguments.map { |argument| StoreHistory.comparable(argument) }])
            super(*arguments)
          end
        end

        # @return [Object] equal for what makes no difference
        def self.comparable(argument)
          case argument
          when String then argument.dup.freeze
          when OpenSSL::X509::Certificate, OpenSSL::X509::CRL then argument.to_der
          else argument
          end
        end
      end
    end
  end
end

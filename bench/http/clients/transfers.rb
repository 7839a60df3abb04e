# frozen_string_literal: true

require "tempfile"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # A file of 1 MiB sent as multipart/form-data, and a body written to a file piece by piece: as each library's guide says.
      class Transfers < Client
        FILE_BYTES = 1 << 20
        # Memory, so that no disk is measured.
        MEMORY = "/dev/shm"

        # A body in a file. It is read when results are compared, not while time is taken.
        Saved = Struct.new(:file) do
          def to_s = File.binread(file.path)
        end

        # By one client of Plait.
        class Plait < Transfers
          def initialize(site, limit, way:)
            super
            require "plait/http"
            @client = ::Plait::HTTP::Client.new
          end

          private

          def upload(url) = File.open(file) { |opened| @client.post(url, multipart: { note: "a", file: opened }).body }

          def download(url, to) = @client.get(url) { |answer| answer.save(to) }
        end

        # By one started Net::HTTP.
        class NetHttp < Transfers
          def initialize(site, limit, way:)
            super
            require "net/http"
            @http = Net::HTTP.start(site.host, site.effective_port)
          end

          private

          def upload(url)
            File.open(file) do |opened|
              request = Net::HTTP::Post.new(URI(url))
              request.set_form([%w[note a], ["file", opened]], "multipart/form-data")
              @http.request(request).body
            end
          end

          def download(url, to)
            @http.request(Net::HTTP::Get.new(URI(url))) { |answer| answer.read_body { |piece| to.write(piece) } }
          end
        end

        # By a persistent client of http.rb.
        class HttpRb < Transfers
          def initialize(site, limit, way:)
            super
            require "http"
            @http = ::HTTP.persistent(site.origin)
          end

          private

          def upload(url) = @http.post(url, form: { note: "a", file: ::HTTP::FormData::File.new(file) }).to_s

          def download(url, to) = @http.get(url).body.each { |piece| to.write(piece) }
        end

        # By a persistent session of httpx.
        class Httpx < Transfers
          def initialize(site, limit, way:)
            super
            require "pathname"
            require "set"
            require "httpx"
            @httpx = HTTPX.plugin(:persistent).plugin(:stream)
          end

          private

          def upload(url) = @httpx.post(url, form: { note: "a", file: Pathname(file) }).raise_for_status.body.to_s

          def download(url, to) = @httpx.get(url, stream: true).each { |piece| to.write(piece) }
        end

        # By one handle of libcurl.
        class Curb < Transfers
          def initialize(site, limit, way:)
            super
            require "curb"
            @easy = Curl::Easy.new
            @easy.multipart_form_post = true
          end

          private

          def upload(url)
            @easy.url = url
            @easy.http_post(Curl::PostField.content("note", "a"), Curl::PostField.file("file", file))
            @easy.body
          end

          def download(url, to)
            @easy.url = url
            @easy.on_body { |piece| to.write(piece) }
            @easy.perform
          end
        end

        # @param way [Symbol] :upload or :download
        def initialize(site, limit, way:)
          super(site, limit)
          @way = way
        end

        def get(requests) = requests.map { |url| @way == :upload ? upload(url) : save(url) }

        private

        def save(url)
          to = Tempfile.new("plait-bench", *(MEMORY if File.writable?(MEMORY)), binmode: true)
          download(url, to)
          to.flush
          Saved.new(to)
        end

        def file
          @file ||= Tempfile.new("plait-bench").tap do |made|
            made.write("x" * FILE_BYTES)
            made.flush
          end
          @file.path
        end
      end
    end
  end
end

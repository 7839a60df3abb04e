# frozen_string_literal: true

module Plait
  module Lab
    class HtmlReport
      # The drawing library as it comes with the vega gem, ready to stand inside a page.
      module Vega
        SCRIPTS = %w[vega vega-lite vega-embed].freeze

        module_function

        # @return [String, nil] why there are no drawings
        def missing
          "The drawings are left out: the gem vega is not installed." unless folder
        end

        # @return [Array<String>] JavaScript that holds nothing that would end a script element
        def sources
          SCRIPTS.map do |name|
            inline(File.read(File.join(folder, "vendor/assets/javascripts/#{name}.js"), encoding: "UTF-8"))
          end
        end

        # Its licence (BSD, three clauses) asks that it goes along with every copy.
        # @return [String] an HTML comment
        def licences
          texts = SCRIPTS.filter_map do |name|
            path = File.join(folder, "licenses/LICENSE-#{name}.txt")
            "#{name}\n\n#{File.read(path, encoding: "UTF-8")}" if File.exist?(path)
          end
          "<!--\n#{texts.join("\n").gsub("--", "- -")}\n-->"
        end

        # Ruby may have been started with --disable=gems.
        def folder = @folder ||= defined?(Gem) ? find : nil

        def find
          (Gem.loaded_specs["vega"] || Gem::Specification.find_by_name("vega")).full_gem_path
        rescue Gem::MissingSpecError
          nil
        end

        # In a string or an expression `\/` is `/` and `\!` is `!`, and elsewhere JavaScript has neither of the two.
        def inline(source) = source.gsub(%r{</(?=script)}i, "<\\/").gsub("<!--", "<\\!--")

        private_class_method :folder, :find, :inline
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../suite"

module Plait
  module Suites
    class UserFile
      # The modules of the files that were read, each under the name of its file: what a file defines needs a name, for
      # Marshal to carry it between processes, and to be told in messages. A file may have the name of a class: ::File.
      module Files
        # @param path [String]
        # @param script [Module]
        # @return [Module] the same; it has the name of one that was read before from a file of that name
        def self.add(path, script)
          name = constant(path)
          remove_const(name) if const_defined?(name, false)
          const_set(name, script)
        end

        # @return [String] "ResizePictures" for "resize-pictures.rb"
        def self.constant(path)
          words = ::File.basename(path, ".rb").scan(/[A-Za-z0-9]+/).map { |word| word[0].upcase + word[1..] }
          words.join.match?(/\A[A-Z]/) ? words.join : "File#{words.join}"
        end
        private_class_method :constant
      end
    end
  end
end

-- Ghost text (Neovim 0.12): accepting all of it, a word or a line.
--
-- Neovim applies a suggestion at the place where it was made. What a person has typed of it since
-- is in the buffer already, so here only the rest is inserted.

local beside = require('midtoken.beside')

local M = {}

M.is_there = vim.lsp.inline_completion ~= nil

--- The next word with the blanks before it, or the next mark; a line end counts with what follows.
---@param text string
---@return string
function M.first_word(text)
  return text:match('^%s*[%w_\128-\255]+') or text:match('^%s*[^%w%s_\128-\255]') or text
end

--- The text to the end of its first line; what begins with a line end gives that and a line.
---@param text string
---@return string
function M.first_line(text)
  return text:match('^\n*[^\n]*')
end

---@param text string
---@return string
local function all(text)
  return text
end

--- What is left to insert of a suggestion, and where.
---@param item vim.lsp.inline_completion.Item
---@param cursor [integer, integer] row and column in bytes, both from zero
---@param line string the cursor's line
---@return string? rest nil if the suggestion does not belong to the cursor any more
---@return integer replaced bytes after the cursor that the rest takes in
function M.rest(item, cursor, line)
  local range = item.range
  local text = item.insert_text
  if not range or type(text) ~= 'string' or range.start.row ~= cursor[1] then
    return nil, 0
  end
  local typed = line:sub(range.start.col + 1, cursor[2])
  if cursor[2] < range.start.col or not vim.startswith(text, typed) then
    return nil, 0
  end
  return text:sub(#typed + 1), range.end_.col - range.start.col
end

--- Insert a part of what is shown. True if something was shown.
---@param part fun(text: string): string chooses the start of the text that is inserted
---@return boolean
local function accept(part)
  if not M.is_there then
    return false
  end
  return vim.lsp.inline_completion.get({
    on_accept = function(item)
      local row, column = unpack(vim.api.nvim_win_get_cursor(0))
      local cursor = { row - 1, column }
      local rest, replaced = M.rest(item, cursor, vim.api.nvim_get_current_line())
      if not rest then
        return
      end
      local inserted = part(rest)
      -- Closers that the text takes in are replaced only together with the text that holds them.
      local over = #inserted == #rest and replaced or 0
      local lines = vim.split(inserted, '\n')
      vim.api.nvim_buf_set_text(0, cursor[1], column, cursor[1], column + over, lines)
      local start = #lines == 1 and column or 0
      vim.api.nvim_win_set_cursor(0, { row + #lines - 1, start + #lines[#lines] })
      require('midtoken.notes').accepted(item.client_id, vim.fn.strchars(inserted))
    end,
  })
end

--- Accept all of the suggestion. Each of these is true if there was one to accept from.
function M.accept()
  return accept(all)
end

function M.accept_word()
  return accept(M.first_word)
end

function M.accept_line()
  return accept(M.first_line)
end

--- Show ghost text in a buffer while it is the current one. Early builds of 0.12 listen to the cursor
--- of all buffers: what belongs to one that was left would be asked for with the wrong position.
---@param buffer integer
function M.enable(buffer)
  local group = vim.api.nvim_create_augroup('midtoken.ghost.' .. buffer, {})
  for event, on in pairs({ BufEnter = true, BufLeave = false }) do
    vim.api.nvim_create_autocmd(event, {
      group = group,
      buffer = buffer,
      callback = function()
        vim.lsp.inline_completion.enable(on, { bufnr = buffer })
        beside.watch(buffer)
      end,
    })
  end
  vim.lsp.inline_completion.enable(buffer == vim.api.nvim_get_current_buf(), { bufnr = buffer })
  beside.watch(buffer)
end

--- Ask for a suggestion at the cursor as if it had just moved there, unless one is shown. What was
--- typed while the model was loaded was answered with nothing.
function M.ask()
  local buffer = vim.api.nvim_get_current_buf()
  if vim.startswith(vim.api.nvim_get_mode().mode, 'i') and not M.is_shown(buffer) then
    -- Neovim has no function for it, and the group is there only where it listens.
    local group = 'nvim.lsp.inline_completion:' .. buffer
    pcall(vim.api.nvim_exec_autocmds, 'CursorMovedI', { group = group, buffer = buffer })
  end
end

--- Whether ghost text is shown in a buffer.
---@param buffer integer 0 for the current one
---@return boolean
function M.is_shown(buffer)
  local space = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
  return space ~= nil and #vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { limit = 1 }) > 0
end

--- Show the next (or with -1 the previous) suggestion. False if none is shown.
---@param step integer
---@return boolean
function M.step(step)
  if not M.is_there or not M.is_shown(0) then
    return false
  end
  vim.lsp.inline_completion.select({ count = step })
  beside.place(vim.api.nvim_get_current_buf())
  return true
end

return M
